package protocol

import "slices"

// Rules for when the leader, or a member that runs items, is foreign.

// assignsAtNextInstant reports whether a foreign leader will assign only at the next
// instant, because the mark that asks for a reshard came too late for the one that is due.
// Then the due instant need not wait for it. A trigger makes the leader assign at once.
func (s *State) assignsAtNextInstant() bool {
	v := s.view
	return s.company.foreignLeads && v.Necessary && !v.Processing && !s.triggered() && s.schedule.tick.At != 0 && s.reshard.since > s.schedule.tick.At+assignLag
}

// assignLag is how long, in ms after an instant, a foreign leader may still see a mark and
// assign before it begins.
const assignLag = 300

// seeStrayProcessing notes since when processing is there although no reshard is asked for.
func (s *State) seeStrayProcessing() {
	switch v := s.view; {
	case !v.Processing || v.Necessary:
		s.reshard.stray = 0
	case s.reshard.stray == 0:
		s.reshard.stray = s.now
	}
}

// strayProcessing reports whether a foreign member has left processing, so that the mark for
// a reshard must be set again. A leader that waits for runs does not look again whether it
// leads. If the next leader assigns first, this one still deletes the owners' nodes, and then
// its transaction is refused. With the mark the transaction would succeed and assign by an old
// list of members. So the mark is not set before a bounded time, in which that member ends.
func (s *facts) strayProcessing() bool {
	if s.reshard.stray == 0 {
		return false
	}
	until := s.reshard.stray + s.o.ReshardWait
	if s.now < until {
		s.hold(until)
	}
	return s.now >= until
}

// ownerGone reports whether an item's owner is not registered, and no reshard is in
// progress.
func (s *State) ownerGone() bool {
	v := s.view
	for i := range v.total() {
		if !v.Processing && v.instance(v.item(i).Owner) == nil {
			return true
		}
	}
	return false
}

// memberLeftOut reports whether a member has no item, though there are enough, so that the
// mark for a reshard should be set again. A member that joins while a foreign leader assigns
// gets nothing, and the leader deletes its mark together with the one that it answers. But a
// strategy may give a member nothing on purpose, so that is done only a few times: requests
// counts them.
func (s *State) memberLeftOut(requests int) bool {
	v := s.view
	return !v.Processing && !v.unadopted() && requests < mostRequests && v.someoneWithout()
}

// mostRequests is how often the mark is set for the same members. A foreign leader lists
// the members, waits until nothing runs, and only then assigns. So it may delete the first
// mark with an assignment that had begun before; the second it cannot.
const mostRequests = 2

// leaderWaits reports whether a foreign leader, which was asked to assign, waits until
// nothing runs. Until then no item that has begun since may begin again. While an item of
// the leader itself runs, it does not wait yet: it assigns between its own runs.
func (s *State) leaderWaits() bool {
	v, c := s.view, s.config()
	if c == nil || !c.MonitorExecution || !s.company.foreignLeads || !v.Necessary || s.reshard.since == 0 {
		return false
	}
	running := func(it Item) bool { return it.Running != 0 }
	own := func(it Item) bool { return running(it) && it.Owner == v.Leader }
	return slices.ContainsFunc(v.Items, running) && !slices.ContainsFunc(v.Items, own)
}

// tooEarly reports whether an instant has just come, so that foreign members are about to
// mark the items that they run, one by one, and the view does not show yet what runs. If the
// reshard was requested before the instant, they wait for it instead of running.
func (s *facts) tooEarly() bool {
	v, t := s.view, s.schedule.latest.At
	until := t + startLag + int64(v.total())*startLagItem
	if !s.company.shared || t == 0 || s.reshard.since < t-beforehand || s.reshard.since >= until || s.now >= until {
		return false
	}
	s.hold(until)
	return true
}

// Times in ms that foreign members take to mark what they begin: for the first item, and
// for each further one. They create one node after the other.
const (
	startLag     = 50
	startLagItem = 2
	beforehand   = 100 // a foreign leader's clock may be ahead
)
