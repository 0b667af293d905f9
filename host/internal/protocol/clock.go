package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// clocksAgree is the difference in ms that a server's clock and the registry's may have,
// unless the job says otherwise.
const clocksAgree = 5_000

// clocks is what this member knows of its clock and the registry's, and has reported of
// them.
type clocks struct {
	skew  int64 // ms that the own clock is ahead of the registry's, when it was measured last
	early Tick  // the instant that waits for the registry's clock; At 0: none

	reportedSkew   int64         // the difference that why names
	why            reason.Reason // none: the clocks agree
	accountedAhead bool          // items are accounted for up to an instant far in the future
	// dropped: instants came behind one that waited for the registry's clock. The
	// schedule does not report them again by itself.
	dropped bool
}

// registryTime is the time of the registry's clock, as far as it is known here.
func (s *State) registryTime() int64 { return s.now - s.clock.skew }

// tolerance is the difference in ms that the two clocks may have.
func (s *State) tolerance() int64 {
	if c := s.config(); c != nil && c.MaxSkew > 0 {
		return c.MaxSkew
	}
	return clocksAgree
}

// future: the registry's clock is not yet near the moment.
func (s *State) future(t int64) bool { return t > s.registryTime()+s.tolerance() }

// dateOf is a moment of the own clock as it may be written for other members: not after
// the registry's time, unless the clocks agree. Instants up to a date in the future
// would begin nowhere.
func (s *State) dateOf(t int64) int64 {
	if s.clock.skew > s.tolerance() {
		t -= s.clock.skew
	}
	if s.future(t) { // the clock was set back since
		t = s.registryTime()
	}
	return t
}

// skewed: the clock differs from the registry's by more than the job allows.
func (s *State) skewed() bool {
	c := s.config()
	return c != nil && c.MaxSkew > 0 && max(s.clock.skew, -s.clock.skew) > c.MaxSkew
}

// distant: the moment lies so far ahead of the registry's clock that a clock was
// wrong when it was written.
func (s *State) distant(t int64) bool {
	return t > s.registryTime()+max(s.tolerance(), clocksAgree)
}
