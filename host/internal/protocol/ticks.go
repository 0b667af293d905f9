package protocol

import (
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// arrive makes an instant due that has come by this server's clock, or keeps it until the
// registry's clock is near it. It keeps only one, as those of a dense schedule would fill the
// memory; goByClocks has the schedule report the others again.
func (s *State) arrive(t Tick) {
	if s.future(t.At) {
		if s.clock.early.At == 0 {
			s.clock.early = t
		} else {
			s.clock.dropped = true
		}
		if s.view == nil || s.own() == nil {
			return
		}
		for i := range s.view.total() {
			if s.mine(i) && !s.passed(i, t.At) {
				s.backlog.excuse(i, reason.Of(reason.ClockAhead))
			}
		}
		return
	}
	if s.noteInstant(t) { // an older one changes nothing
		s.evidence.early(t)
		s.listener.instants = append(s.listener.instants[max(0, len(s.listener.instants)+1-keptInstants):], t.At)
		s.schedule.tick, s.schedule.unseen = t, 0
		s.silenced()
	}
}

// goByClocks follows the two clocks: an instant that waited becomes due, and instants of a
// clock that was set back have not come.
func (s *State) goByClocks(p *Plan) {
	s.reportClocks(p)
	waited := s.clock.early.At != 0 || s.clock.dropped
	if t := s.clock.early; t.At != 0 && !s.future(t.At) {
		s.clock.early = Tick{}
		s.arrive(t)
	}
	setBack := s.schedule.latest.At > s.now+clocksAgree
	// Unless the clock was set back, there is nothing to do if no instant has waited, or if this
	// clock is still ahead, so that more come too early.
	if !setBack && (!waited || s.clock.skew > s.tolerance()) {
		return
	}
	s.clock.early, s.clock.dropped = Tick{}, false
	if setBack {
		s.schedule.latest, s.schedule.tick, s.listener.instants, s.schedule.paused = Tick{}, Tick{}, nil, 0
		s.backlog.due = slices.DeleteFunc(s.backlog.due, func(d due) bool { return d.at > s.now+clocksAgree })
	}
	// The schedule has reported these instants, and those after the one that waited. It
	// would not report them again.
	if s.schedule.cron != nil && s.self != "" {
		p.add(Reschedule{Cron: *s.schedule.cron})
	}
}

// reportClocks reports once that the clocks differ by more than they may, and once that
// they agree again.
func (s *State) reportClocks(p *Plan) {
	if most := s.tolerance(); max(s.clock.skew, -s.clock.skew) <= most {
		if !s.clock.why.None() {
			p.add(Note{Why: reason.Of(reason.ClocksAgree)})
		}
		s.clock.why = reason.Reason{}
		return
	}
	// Once reported, they are reported again only if the difference has changed a lot.
	if by := s.clock.skew - s.clock.reportedSkew; !s.clock.why.None() && max(by, -by) <= max(s.tolerance(), clocksAgree) {
		return
	}
	s.clock.reportedSkew, s.clock.why = s.clock.skew, s.bothClocks()
	p.add(Note{Why: s.clock.why, Wrong: true})
}

// bothClocks is the reason with which the clocks are reported to differ: this one cannot be
// used for the job, or is ahead of the registry's or behind it. It names both times.
func (s *State) bothClocks() reason.Reason {
	code := reason.ClockBehind
	switch {
	case s.skewed():
		code = reason.ClockUnusable
	case s.clock.skew > 0:
		code = reason.ClockEarly
	}
	return reason.Of(code, clockText(s.now), clockText(s.registryTime()), (time.Duration(s.tolerance()) * time.Millisecond).String())
}

// clockText is a time in the form in which operators compare clocks, with ms.
func clockText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// seeFuture reports once that items are accounted for up to a moment in the future: a clock
// was ahead when that was written.
func (s *State) seeFuture(p *Plan) {
	why := s.accountedAhead()
	if later := !why.None(); later != s.clock.accountedAhead {
		s.clock.accountedAhead = later
		if later {
			p.add(Note{Why: why, Wrong: true})
		}
	}
}

// accountedAhead is the reason with which items are reported that wait for a moment far in
// the future.
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
