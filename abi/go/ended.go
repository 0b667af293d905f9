package wasmjob

// Ended is how a run has ended; from 128 on it is a code of the author's own.
type Ended int32

// The ends that Context.Ended tells of.
const (
	EndedDone      Ended = resultOK
	EndedFailed    Ended = resultFailed
	EndedRetryable Ended = resultRetryable // failed, and another attempt may help
	EndedSkipped   Ended = resultSkipped   // there was nothing to do
	EndedLate      Ended = resultLate      // after its deadline, whatever it returned
)

// Ended is how the run has ended. It is known in the listener after alone; false
// elsewhere, and on a host whose HostMinor is below 2.
func (c Context) Ended() (Ended, bool) {
	n := c.h.ctxInt(fieldOutcome)
	if n == noInt {
		return 0, false
	}
	return Ended(n), true
}

// EndedReason is the reason that the run has given for its end, in the listener
// after; empty if it gave none.
func (c Context) EndedReason() string { return c.textOr(fieldReason) }

// Fire is how many items of a fire ended in which way, on all servers. An item
// that was disabled, or whose server died, may be in none of the numbers.
type Fire struct {
	Succeeded int
	Failed    int // or late, or stopped
	Skipped   int // there was nothing to do
}

// Fire is how the items of the fire ended. It is told to the listener completed
// alone, and not always known to the host; false elsewhere, and on a host whose
// HostMinor is below 2.
func (c Context) Fire() (Fire, bool) {
	if c.h.ctxInt(fieldFireSucceeded) == noInt {
		return Fire{}, false
	}
	return Fire{int(c.number(fieldFireSucceeded)), int(c.number(fieldFireFailed)), int(c.number(fieldFireSkipped))}, true
}
