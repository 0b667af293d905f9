package native

import "encoding/binary"

// Messages of a server to a supervisor. When the pipe is closed, the supervisor kills the
// command and all processes that it started: the server is gone, or ends the run.
const (
	// toBegin lets the command begin. The server sends it only when the supervisor
	// can be found by its environment, so that all running processes can be found at
	// any time.
	toBegin byte = 'b'
	// toAsk makes the supervisor ask all processes to end.
	toAsk byte = 'a'
	// toLease sends the end of the lease. No other member takes the run before that.
	// Eight bytes follow: a time of bootTime, or 0 for no limit.
	toLease byte = 'l'
)

// leaseSize is the number of bytes that follow toLease.
const leaseSize = 8

// leaseMessage returns the message toLease. It is one piece, so that no other message comes
// between its bytes.
func leaseMessage(until int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{toLease}, uint64(until))
}

const (
	// superviseVar names the run in the environment of its supervisor, belongVar in
	// the environment of the command and all processes that it starts.
	superviseVar = "WASMJOB_SUPERVISOR_OF"
	belongVar    = "WASMJOB_COMMAND_ID"
)

// reportFD is the file descriptor to which a supervisor writes the ending, as JSON.
const reportFD = 3

// maxEnding bounds the bytes of an ending that a server reads.
const maxEnding = 64 << 10

// ending says how a command ended. The supervisor sends it when no process of the
// command is left.
type ending struct {
	Fault string `json:"fault,omitempty"` // why the command did not begin
	Code  int    `json:"code"`            // the exit code; negative: a signal ended the command
	State string `json:"state,omitempty"` // exit code or signal in words
	Peak  int64  `json:"peak,omitempty"`  // largest memory of one process, in bytes
	Left  []int  `json:"left,omitempty"`  // processes that the supervisor may not kill
	// Lapsed: the command was killed because its lease had ended.
	Lapsed bool `json:"lapsed,omitempty"`
}
