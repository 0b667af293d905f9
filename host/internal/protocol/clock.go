package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// clocksAgree is the difference in ms that a server's clock and the registry's may have by
// default.
const clocksAgree = 5_000

// clocks is what this member knows, and has reported, of its clock and the registry's.
type clocks struct {
	skew  int64 // ms by which the own clock was ahead of the registry's when last measured
	early Tick  // the instant that waits for the registry's clock; At 0: none

	reportedSkew   int64         // the difference that was reported
	why            reason.Reason // none: the clocks agree
	accountedAhead bool          // items are accounted for up to an instant far in the future
	// dropped: more instants came while early waited. The schedule does not report them
	// again by itself.
	dropped bool
}

// registryTime is the time of the registry's clock, as far as this member knows it.
func (s *State) registryTime() int64 { return s.now - s.clock.skew }

// tolerance is the difference in ms that the two clocks may have.
func (s *State) tolerance() int64 {
	if c := s.config(); c != nil && c.MaxSkew > 0 {
		return c.MaxSkew
	}
	return clocksAgree
}

// future reports whether t is so late that the registry's clock is not near it.
func (s *State) future(t int64) bool { return t > s.registryTime()+s.tolerance() }

// dateOf returns a moment of the own clock in a form that other members may use: if the
// clocks do not agree, it is no later than the registry's time. Instants up to a date in
// the future would begin nowhere.
func (s *State) dateOf(t int64) int64 {
	if s.clock.skew > s.tolerance() {
		t -= s.clock.skew
	}
	if s.future(t) { // the clock was set back since t
		t = s.registryTime()
	}
	return t
}

// skewed reports whether the clock differs from the registry's by more than the job allows.
func (s *State) skewed() bool {
	c := s.config()
	return c != nil && c.MaxSkew > 0 && max(s.clock.skew, -s.clock.skew) > c.MaxSkew
}

// distant reports whether t is so far ahead of the registry's clock that a clock must have
// been wrong when it was written.
func (s *State) distant(t int64) bool {
	return t > s.registryTime()+max(s.tolerance(), clocksAgree)
}
