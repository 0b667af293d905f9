package protocol

import "slices"

// What members do because the leader, or a member that runs items, is foreign.

// assignsAtNextInstant: a foreign leader will assign no earlier than at the next
// instant, since the mark came too late for the one that is due.
func (s *State) assignsAtNextInstant() bool {
	v := s.view
	return s.company.foreignLeads && v.Necessary && !v.Processing && !s.triggered() && s.schedule.tick.At != 0 && s.reshard.since > s.schedule.tick.At+assignLag
}

// assignLag is until when, in ms after an instant, a foreign leader may still
// see a mark and assign before it begins.
const assignLag = 300

// ownerGone: the owner of an item is not registered, and no reshard is under way.
func (s *State) ownerGone() bool {
	v := s.view
	for i := range v.total() {
		if !v.Processing && v.instance(v.item(i).Owner) == nil {
			return true
		}
	}
	return false
}

// memberLeftOut: a member has no item, though there are enough. A member that joins
// while a foreign leader assigns gets nothing, and its mark goes with the one that the
// leader answers. So the mark is set again, but only a few times: a strategy may give a
// member nothing on purpose.
func (s *State) memberLeftOut(requests int) bool {
	v := s.view
	return !v.Processing && !v.unadopted() && requests < mostRequests && v.someoneWithout()
}

// mostRequests is how often the mark is set for the same members. A foreign leader lists
// the members, waits until nothing runs, and only then assigns. So the first mark may go
// with an assignment that had begun before it; the second cannot.
const mostRequests = 2

// leaderWaits: a foreign leader that was asked to assign waits until nothing runs. Until
// then no item begins that has begun since. Runs of the leader's own process do not
// count: it does not assign during one.
func (s *State) leaderWaits() bool {
	v, c := s.view, s.config()
	if c == nil || !c.MonitorExecution || !s.company.foreignLeads || !v.Necessary || s.reshard.since == 0 {
		return false
	}
	running := func(it Item) bool { return it.Running != 0 }
	own := func(it Item) bool { return running(it) && it.Owner == v.Leader }
	return slices.ContainsFunc(v.Items, running) && !slices.ContainsFunc(v.Items, own)
}

// tooEarly: an instant has just come, and foreign members are about to mark what they
// run, item by item. They wait for a reshard that was asked for before the instant.
func (s *facts) tooEarly() bool {
	v, t := s.view, s.schedule.latest.At
	until := t + startLag + int64(v.total())*startLagItem
	if !s.company.shared || t == 0 || s.reshard.since < t-beforehand || s.reshard.since >= until || s.now >= until {
		return false
	}
	s.hold(until)
	return true
}

// How long, in ms, foreign members take to mark what they begin: the first item, and
// each further one. They create one node after the other.
const (
	startLag     = 50
	startLagItem = 2
	beforehand   = 100 // its clock may be ahead
)
