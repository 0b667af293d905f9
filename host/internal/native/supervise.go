package native

import "encoding/binary"

// What a server writes to a supervisor. When the pipe is closed, the supervisor
// kills the command and all processes that it started: the server is gone, or wants
// it so.
const (
	// toBegin lets the command begin. The server sends it only when the supervisor
	// can be found by its environment, so that everything that runs can be found at
	// any time.
	toBegin byte = 'b'
	// toAsk makes the supervisor ask all processes to end.
	toAsk byte = 'a'
	// toLast sends the end of the lease, before which no other member begins the
	// run. Eight bytes follow: the time of bootTime, or 0 for no limit.
	toLast byte = 'l'
)

// lastSize is the number of bytes that follow toLast.
const lastSize = 8

// lasting returns the message with toLast. It is written in one piece, so that
// nothing comes between its bytes.
func lasting(until int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{toLast}, uint64(until))
}

const (
	// superviseVar names the run in the environment of its supervisor, belongVar in
	// that of the command and all that it starts.
	superviseVar = "WASMJOB_SUPERVISOR_OF"
	belongVar    = "WASMJOB_COMMAND_ID"
)

// sayFD is the file descriptor to which a supervisor writes the ending, as JSON.
const sayFD = 3

// maxEnding bounds the bytes of an ending that a server reads.
const maxEnding = 64 << 10

// ending says how a command ended. The supervisor sends it when no process of the
// command is left.
type ending struct {
	Fault string `json:"fault,omitempty"` // why the command did not begin
	Code  int    `json:"code"`            // the exit code; negative: a signal ended the command
	State string `json:"state,omitempty"` // the same in words
	Peak  int64  `json:"peak,omitempty"`  // largest memory of one process, in bytes
	Left  []int  `json:"left,omitempty"`  // processes that the supervisor may not kill
	// Lapsed: the command was killed because its lease had ended.
	Lapsed bool `json:"lapsed,omitempty"`
}
