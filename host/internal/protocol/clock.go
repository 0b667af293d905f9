package protocol

import (
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// clocksAgree is by how many ms a server's clock and the registry's may differ where
// the job does not say.
const clocksAgree = 5_000

// clocks is what was told of the difference between the two.
type clocks struct {
	skew  int64         // that the text names
	why   reason.Reason // none: they agree
	later bool          // items are accounted for up to an instant that is still far away
	// dropped: instants came behind one that waited for the registry's clock. The
	// schedule does not tell them again by itself.
	dropped bool
}

// registryTime is what the registry's clock shows, as far as is known here.
func (s *State) registryTime() int64 { return s.now - s.skew }

// tolerance is by how many ms the two clocks may differ.
func (s *State) tolerance() int64 {
	if c := s.config(); c != nil && c.MaxSkew > 0 {
		return c.MaxSkew
	}
	return clocksAgree
}

// future: the registry's clock is not yet near the moment.
func (s *State) future(t int64) bool { return t > s.registryTime()+s.tolerance() }

// dateOf is the moment of the own clock as it may be written for others to go by: not
// after the registry's time, unless the clocks agree. Instants up to a date that
// lies in the future would begin nowhere.
func (s *State) dateOf(t int64) int64 {
	if s.skew > s.tolerance() {
		t -= s.skew
	}
	if s.future(t) { // the clock was set back since
		t = s.registryTime()
	}
	return t
}

// arrive lets an instant be due, or keeps it until the registry's clock is there.
// One at a time waits: a schedule that is dense would fill the memory.
func (s *State) arrive(t Tick) {
	if s.future(t.At) {
		if s.early.At == 0 {
			s.early = t
		} else {
			s.clocks.dropped = true
		}
		if s.view == nil || s.own() == nil {
			return
		}
		for i := range s.view.total() {
			if s.mine(i) && !s.passed(i, t.At) {
				s.excuse(i, reason.ClockAhead)
			}
		}
		return
	}
	if s.came(t) {
		s.witness.early(t)
		s.instants = append(s.instants[max(0, len(s.instants)+1-keptInstants):], t.At)
		s.tick, s.unseen = t, 0
		s.silenced()
	}
}

// goByClocks follows the two clocks: an instant that waited becomes due, and those
// that came by a clock which was set back have not come.
func (s *State) goByClocks(p *Plan) {
	s.tellClocks(p)
	waited := s.early.At != 0 || s.clocks.dropped
	if t := s.early; t.At != 0 && !s.future(t.At) {
		s.early = Tick{}
		s.arrive(t)
	}
	setBack := s.latest.At > s.now+clocksAgree
	if !setBack && (!waited || s.skew > s.tolerance()) {
		return
	}
	s.early, s.clocks.dropped = Tick{}, false
	if setBack {
		s.latest, s.tick, s.instants, s.paused = Tick{}, Tick{}, nil, 0
		s.due = slices.DeleteFunc(s.due, func(d due) bool { return d.at > s.now+clocksAgree })
	}
	// The schedule has told these instants, also those behind the one that waited,
	// and would not tell them again.
	if s.cron != nil && s.self != "" {
		p.add(Reschedule{Cron: *s.cron})
	}
}

// skewed: the clock differs from the registry's by more than the job allows.
func (s *State) skewed() bool {
	c := s.config()
	return c != nil && c.MaxSkew > 0 && max(s.skew, -s.skew) > c.MaxSkew
}

// tellClocks notes, once, that the clocks differ by more than they may, or agree
// again.
func (s *State) tellClocks(p *Plan) {
	if most := s.tolerance(); max(s.skew, -s.skew) <= most {
		if !s.clocks.why.None() {
			p.add(Note{Why: reason.Of(reason.ClocksAgree)})
		}
		s.clocks.why = reason.Reason{}
		return
	}
	if by := s.skew - s.clocks.skew; !s.clocks.why.None() && max(by, -by) <= max(s.tolerance(), clocksAgree) {
		return
	}
	s.clocks.skew, s.clocks.why = s.skew, s.bothClocks()
	p.add(Note{Why: s.clocks.why, Wrong: true})
}

// bothClocks is the trouble of clocks that differ.
func (s *State) bothClocks() reason.Reason {
	code := reason.ClockBehind
	switch {
	case s.skewed():
		code = reason.ClockUnusable
	case s.skew > 0:
		code = reason.ClockEarly
	}
	return reason.Of(code, clockText(s.now), clockText(s.registryTime()), (time.Duration(s.tolerance()) * time.Millisecond).String())
}

func clockText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// seeFuture notes, once, that items are accounted for up to a moment that is still
// to come: a clock was ahead when that was written.
func (s *State) seeFuture(p *Plan) {
	why := s.accountedAhead()
	if later := !why.None(); later != s.clocks.later {
		s.clocks.later = later
		if later {
			p.add(Note{Why: why, Wrong: true})
		}
	}
}

// accountedAhead is the trouble of items that wait for a moment that is far away.
func (s *State) accountedAhead() reason.Reason {
	if s.self == "" || s.config() == nil || !s.distant(s.view.newest()) {
		return reason.Reason{}
	}
	n, until := 0, int64(0)
	for i := range s.view.total() {
		if t := s.view.last(i); s.distant(t) {
			n, until = n+1, max(until, t)
		}
	}
	if n == 0 {
		return reason.Reason{}
	}
	return reason.Of(reason.AccountedAhead, strconv.Itoa(n), clockText(until), clockText(s.registryTime()), clockText(s.now))
}
