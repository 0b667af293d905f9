package protocol

import (
	"fmt"
	"slices"
)

// Whoever writes a cron that cannot be read means another one, and nobody knows
// which. As members of ElasticJob do, ours go on by the one before, which the
// records and the assignment keep, so that those do who start later. Beside members
// of ElasticJob nothing is begun by it: what they go by, and whether they can read
// the new one, is not known here, and an item that waits is better than one that
// runs by another schedule than its neighbours.

// said is what was told last, and is not told again.
type said struct {
	cron, leaderless string
	unread           bool // not even the cron by which the clock is to go can be read
}

// inForce is the cron by which the job goes: the registry's or, while that cannot be
// read, the newest before it that can; if there is none, it is the registry's.
func (s *State) inForce(c *Config) string {
	if s.reads(c.Cron) {
		return c.Cron
	}
	for _, sc := range slices.Backward(s.schedules) {
		if sc.Cron != "" && s.reads(sc.Cron) {
			return sc.Cron
		}
	}
	return c.Cron
}

// reads: the schedule is none, or one that can be read.
func (s *State) reads(cron string) bool {
	return cron == "" || s.o.Reads == nil || s.cron != nil && *s.cron == cron && !s.said.unread || s.o.Reads(cron)
}

// schedule has the clock go by what is in force.
func (s *State) schedule(p *Plan) {
	c := s.config()
	if c == nil || s.self == "" {
		return
	}
	cron := s.inForce(c)
	s.said.unread = !s.reads(cron)
	if s.cron == nil || *s.cron != cron {
		s.cron = &cron
		s.tick = Tick{}
		p.add(Reschedule{Cron: cron})
	}
	switch text := s.unreadText(); text {
	case s.said.cron:
	case "":
		p.add(Note{Text: "the schedule in the registry can be read again"})
		s.said.cron = text
	default:
		p.add(Note{Text: text, Wrong: true, Goes: !s.pausedByCron()})
		s.said.cron = text
	}
}

// unreadText is what to say of a schedule that cannot be read while there is one
// before it; "" otherwise.
func (s *State) unreadText() string {
	c := s.config()
	switch {
	case c == nil || s.cron == nil || *s.cron == c.Cron:
		return ""
	case s.view.foreign():
		return fmt.Sprintf("the schedule %.100q in the registry cannot be read, and members of ElasticJob share the job: nothing that is scheduled begins here until another one is written", c.Cron)
	}
	return fmt.Sprintf("the schedule %.100q in the registry cannot be read: the job goes on by the one before, %q, until another one is written", c.Cron, *s.cron)
}

// pausedByCron: what is due now is not begun, since others may go by another schedule.
func (s *State) pausedByCron() bool {
	c := s.config()
	return c != nil && s.cron != nil && *s.cron != c.Cron && s.view.foreign()
}

// keepSchedule writes the schedule that is in force into the own record, if nobody
// else has: who starts later cannot see it in the registry's configuration.
func (s *State) keepSchedule(own *Runs) Mutation {
	if own == nil || s.leaving || s.unreadText() == "" {
		return nil
	}
	kept := func(all []Schedule) bool {
		return slices.ContainsFunc(all, func(sc Schedule) bool { return sc.Cron == *s.cron })
	}
	if kept(own.Schedules) || kept(s.view.Assignment.Schedules) {
		return nil
	}
	return Account{Self: s.self, Own: s.next(own)}
}
