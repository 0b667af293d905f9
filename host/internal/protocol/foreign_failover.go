package protocol

import "slices"

// Foreign members may take items that they will not run. Their mark blocks the item, so a
// member of ours removes it.

// seeFailover remembers when failover was first seen off, as long as it is off.
func (s *State) seeFailover() {
	w := &s.evidence
	switch c := s.config(); {
	case c == nil || c.Failover:
		w.failoverOffSince = 0
	case w.failoverOffSince == 0:
		w.failoverOffSince = s.now
	}
}

// abandonedMarks lists items that foreign members have taken and will not run. While
// failover is off, ElasticJob ignores these marks. Its members delete them when failover is
// switched off, but a member that is in the latch at that moment makes another one. That
// mark stays as long as its session, and the item's owner may not begin the item.
func (s *facts) abandonedMarks() []int {
	w := &s.evidence
	if !s.company.reclaims || w.failoverOffSince == 0 {
		return nil
	}
	var items []int
	for i := range s.view.Items {
		if it := &s.view.Items[i]; it.Failover != "" && it.Running == 0 && w.isSession(it.TakerSession) { // taken, not begun
			items = append(items, i)
		}
	}
	if until := w.failoverOffSince + grace; len(items) > 0 && s.now < until {
		s.hold(until) // a member that took the item before that may be about to run it
		return nil
	}
	return items
}

// seeStray remembers when each item was first seen with a mark that outlived its member, as
// long as it has one.
func (w *evidence) seeStray(v *View, now int64) {
	for i := range v.Items {
		switch left := v.Items[i].leftMark(); {
		case !left && at(w.stray, i) != 0:
			w.stray[i] = 0
		case left && at(w.stray, i) == 0:
			w.stray = set(w.stray, i, now)
		}
	}
}

// leftMark reports whether the item has a mark that outlived its member.
func (it Item) leftMark() bool { return it.Abandoned || it.Failover != "" && it.TakerSession == 0 }

// nodesToPend is an upper bound of the nodes that a transaction writes to make a run of the
// item pending. If the item has a mark that outlived its member, the mark goes as well, and
// its transaction checks that no member has taken the item.
func (it Item) nodesToPend() int {
	if it.leftMark() {
		return 4
	}
	return 2
}

// isStray reports whether no other transaction will delete the item's mark, which outlived
// its member, so that this member must. A member that makes the item's run pending also
// deletes the mark, so the mark stays as long as that may happen: while a foreign member's run
// is not accounted for, or a dead member's record still has the run. Foreign members make a
// run pending at once, and only for a member that they have seen go. They get twice the grace
// for it. If a foreign member has taken the run, nobody makes it pending. Its taker may wait
// for a reshard, for which the leader waits until the mark is gone.
func (s *facts) isStray(i int) bool {
	if s.unaccountedRun(i) != nil && !s.view.item(i).taken() {
		return false
	}
	if !s.company.shared {
		return s.company.leads
	}
	since := at(s.evidence.stray, i)
	left := func(r Runs) bool { return s.view.dead(r.ID) && r.entry(i) != nil }
	if !s.company.reclaims || since == 0 || slices.ContainsFunc(s.view.Runs, left) {
		return false
	}
	until := since + 2*grace
	if s.now < until {
		s.hold(until)
	}
	return s.now >= until
}
