package protocol

import "slices"

// An item does not move while a run of it is open. If runs overlap and last longer than the
// wait for a reshard, some item is always open, and a reshard that waited for all would
// never happen. So after half of the wait, a reshard assigns the idle items. An open item
// stays with its owner, which does not begin it again. After the run, another reshard moves
// it.

// maxDeparting bounds the items that the assignment lists as departing. Further ones stay
// with their owners until a later reshard; one follows as long as any item departs.
const maxDeparting = 1000

// departing reports whether the owner of an item may not begin it again.
func (a *Assignment) departing(i int) bool {
	_, departs := slices.BinarySearch(a.Departing, i)
	return departs
}

// departed reports whether some departing item has no open run any more, so that it can
// move.
func (v *View) departed() bool {
	return slices.ContainsFunc(v.Assignment.Departing, func(i int) bool { return !v.open(i) })
}

// depart leaves open items with their owners, as far as that is possible, and reports
// whether the rest can be assigned now.
func (s *facts) depart(next *Assignment) bool {
	v := s.view
	for k := range v.Runs {
		for _, e := range v.Runs[k].Open {
			owner := v.Assignment.owner(e.Item)
			if next.owner(e.Item) == owner {
				continue
			}
			if e.Item >= next.Total || !slices.Contains(next.Members, owner) {
				return false // it cannot stay there. But nobody begins it again, so the wait for its run ends
			}
			next.Owners[e.Item] = owner
			next.Departing = append(next.Departing, e.Item)
		}
	}
	slices.Sort(next.Departing)
	next.Departing = slices.Compact(next.Departing)
	next.Departing = next.Departing[:min(len(next.Departing), maxDeparting)]
	if s.movesRunning(next) { // foreign members run some of the items
		return false
	}
	// If items depart already, the reshard before this one has waited.
	if until := s.reshard.since + s.o.ReshardWait/2; len(v.Assignment.Departing) == 0 && s.now < until {
		s.hold(until)
		return false
	}
	return true
}

// overdueAfter is how many of the longest waits a reshard may take before that counts as a
// trouble. A foreign leader assigns at its next instant, which may be tomorrow.
const overdueAfter = 3

// reshardOverdue reports whether the reshard that was asked for has not come for so long
// that operators must know.
func (s *State) reshardOverdue() bool {
	return s.reshard.since != 0 && !s.company.foreignLeads && s.o.ReshardWait != 0 && s.now-s.reshard.since > overdueAfter*s.o.ReshardWait
}

// movesRunning reports whether the assignment would move an item that is open on any
// member. Foreign marks mean nothing while execution is not monitored: a foreign member
// that runs when this is switched off may keep its marks until its end.
func (s *State) movesRunning(next *Assignment) bool {
	for i := range s.view.Items {
		it := &s.view.Items[i]
		if it.Running != 0 && s.config().MonitorExecution && next.owner(i) != it.Owner && s.evidence.isSession(it.Running) {
			return true
		}
	}
	for k := range s.view.Runs {
		for _, e := range s.view.Runs[k].Open {
			if next.owner(e.Item) != s.view.Assignment.owner(e.Item) {
				return true
			}
		}
	}
	return false
}

// moving lists the registered members that the assignment takes an item from, or gives one
// to.
func (s *State) moving(next *Assignment) []ID {
	var ids []ID
	for i := range max(len(s.view.Assignment.Owners), len(next.Owners)) {
		from, to := s.view.Assignment.owner(i), next.owner(i)
		for _, id := range []ID{from, to} {
			if from != to && s.view.instance(id) != nil && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
