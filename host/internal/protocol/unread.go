package protocol

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// If the cron cannot be read, members go on by the one before, as foreign members do. The
// records and the assignment keep it for servers that start later. While foreign members
// share the job, nothing begins by it: they may be able to read the new cron, and an item
// that waits is better than one that runs by another schedule than the others.

// inForce is the cron that the job follows: the registry's or, while that cannot be read,
// the newest earlier one that can. If there is none, it is the registry's.
func (s *State) inForce(c *Config) string {
	if s.reads(c.Cron) {
		return c.Cron
	}
	for _, sc := range slices.Backward(s.schedule.known) {
		if sc.Cron != "" && s.reads(sc.Cron) {
			return sc.Cron
		}
	}
	return c.Cron
}

// reads reports whether there is no cron, or this server can read it. Of the cron that is in
// force this is known already.
func (s *State) reads(cron string) bool {
	return cron == "" || s.o.Reads == nil || s.schedule.cron != nil && *s.schedule.cron == cron && !s.schedule.unread || s.o.Reads(cron)
}

// followSchedule sets the clock to the schedule in force, if that is another one than before,
// and reports once that the registry's cron cannot be read, or can be read again.
func (s *State) followSchedule(p *Plan) {
	c := s.config()
	if c == nil || s.self == "" {
		return
	}
	cron := s.inForce(c)
	s.schedule.unread = !s.reads(cron)
	if s.schedule.cron == nil || *s.schedule.cron != cron {
		now := cron // copied only when it changes
		s.schedule.cron = &now
		s.schedule.tick, s.schedule.next = Tick{}, 0
		s.clock.early, s.clock.dropped = Tick{}, false // they are of the former schedule
		p.add(Reschedule{Cron: cron})
	}
	switch why := s.unreadWhy(); why {
	case s.complaint.cron:
	case reason.Reason{}:
		p.add(Note{Why: reason.Of(reason.CronReadable)})
		s.complaint.cron = why
	default:
		p.add(Note{Why: why, Wrong: true, Goes: !s.pausedByCron()})
		s.complaint.cron = why
	}
}

// unreadWhy is why the cron cannot be read while an earlier one is in force; none
// otherwise.
func (s *State) unreadWhy() reason.Reason {
	c := s.config()
	switch {
	case c == nil || s.schedule.cron == nil || *s.schedule.cron == c.Cron:
		return reason.Reason{}
	case s.company.shared:
		return reason.Of(reason.CronUnreadableWithForeign, fmt.Sprintf("%.100q", c.Cron))
	}
	return reason.Of(reason.CronUnreadable, fmt.Sprintf("%.100q", c.Cron), strconv.Quote(*s.schedule.cron))
}

// pausedByCron reports whether due runs do not begin, because foreign members may follow
// another schedule.
func (s *State) pausedByCron() bool {
	c := s.config()
	return c != nil && s.schedule.cron != nil && *s.schedule.cron != c.Cron && s.company.shared
}

// keepSchedule writes the schedule in force to the own record while the configuration has one
// that cannot be read, unless that record or the assignment has it. The configuration does
// not show it to members that start later.
func (s *State) keepSchedule(own *Runs) Mutation {
	if own == nil || s.session.leaving || s.unreadWhy().None() {
		return nil
	}
	kept := func(all []Schedule) bool {
		return slices.ContainsFunc(all, func(sc Schedule) bool { return sc.Cron == *s.schedule.cron })
	}
	if kept(own.Schedules) || kept(s.view.Assignment.Schedules) {
		return nil
	}
	return Account{Self: s.self, Own: s.next(own)}
}
