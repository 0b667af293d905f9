package native

import "encoding/binary"

// What a server writes to a supervisor. The end of the pipe means that the
// command has to end at once, and all that it started: the server is gone, or
// wants it so.
const (
	// toBegin is not written before the supervisor can be found by its
	// environment, so that what runs can be found at any time.
	toBegin byte = 'b'
	// toAsk has everything asked to end.
	toAsk byte = 'a'
	// toLast says for how long the server vouches that nobody else begins the run:
	// eight bytes follow, the time on the clock of bootTime, or 0 for ever.
	toLast byte = 'l'
)

// lastSize is the length of what follows toLast.
const lastSize = 8

// lasting is that message. It is written at once, so that nothing else comes between.
func lasting(until int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{toLast}, uint64(until))
}

const (
	// superviseVar names the run in the environment of its supervisor, and
	// belongVar in that of the command and of what it starts.
	superviseVar = "WASMJOB_SUPERVISOR_OF"
	belongVar    = "WASMJOB_COMMAND_ID"
)

// sayFD is where a supervisor writes the ending, as JSON.
const sayFD = 3

// maxEnding bounds what a server reads of it.
const maxEnding = 64 << 10

// ending is how a command has ended, when nothing is left of it.
type ending struct {
	Fault string `json:"fault,omitempty"` // why it did not begin
	Code  int    `json:"code"`            // less than 0: a signal ended it
	State string `json:"state,omitempty"` // the same for people
	Peak  int64  `json:"peak,omitempty"`  // most memory of one process, in bytes
	Left  []int  `json:"left,omitempty"`  // processes that must not be ended from here
	// Lapsed: the server vouched for it no more.
	Lapsed bool `json:"lapsed,omitempty"`
}
