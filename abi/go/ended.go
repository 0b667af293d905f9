package wasmjob

// Ended says how a run has ended; from 128 on it is a code that the author defines.
type Ended int32

// The results of Context.Ended.
const (
	EndedDone      Ended = resultOK
	EndedFailed    Ended = resultFailed
	EndedRetryable Ended = resultRetryable // failed, and another attempt may help
	EndedSkipped   Ended = resultSkipped   // there was nothing to do
	EndedLate      Ended = resultLate      // after its deadline, whatever it returned
)

// Ended returns how the run has ended. That is known only in the listener after; false
// elsewhere, and on a host whose HostMinor is below 2.
func (c Context) Ended() (Ended, bool) {
	n := c.h.ctxInt(fieldOutcome)
	if n == noInt {
		return 0, false
	}
	return Ended(n), true
}

// EndedReason returns the reason that the run gave for its end, in the listener after;
// empty if it gave none.
func (c Context) EndedReason() string { return c.textOr(fieldReason) }

// Fire says how many items of a fire ended in which way, on all servers. An item that was
// disabled, or whose server died, may be missing in all numbers.
type Fire struct {
	Succeeded int
	Failed    int // or late, or stopped
	Skipped   int // there was nothing to do
}

// Fire returns how the items of the fire ended, in the listener completed; false
// elsewhere, if the host does not know, and on a host whose HostMinor is below 2.
func (c Context) Fire() (Fire, bool) {
	if c.h.ctxInt(fieldFireSucceeded) == noInt {
		return Fire{}, false
	}
	return Fire{int(c.number(fieldFireSucceeded)), int(c.number(fieldFireFailed)), int(c.number(fieldFireSkipped))}, true
}
