package protocol

import "slices"

// An open run does not change hands. If runs are longer than the wait for a reshard, and
// overlap, some item is open at any time, and no reshard could ever be made. So after
// half of the wait, a reshard assigns the items that are idle. An open one stays with
// its owner, which does not begin it again; when the run has ended, a reshard moves it.

// maxDeparting bounds how many items the assignment names as departing. Those
// beyond stay with their owners until a later reshard: one follows as long as any
// item departs.
const maxDeparting = 1000

// departing reports whether the owner of an item may not begin it again.
func (a *Assignment) departing(i int) bool {
	_, departs := slices.BinarySearch(a.Departing, i)
	return departs
}

// departed: the run that an item was left with its owner for has ended.
func (v *View) departed() bool {
	return slices.ContainsFunc(v.Assignment.Departing, func(i int) bool { return !v.open(i) })
}

// depart leaves what is open with its owner, as far as that may be, and reports
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
				return false // it can stay with nobody, and nobody begins it again
			}
			next.Owners[e.Item] = owner
			next.Departing = append(next.Departing, e.Item)
		}
	}
	slices.Sort(next.Departing)
	next.Departing = slices.Compact(next.Departing)
	next.Departing = next.Departing[:min(len(next.Departing), maxDeparting)]
	if s.movesRunning(next) { // foreign members run some: they wait, too
		return false
	}
	if until := s.reshard.since + s.o.ReshardWait/2; len(v.Assignment.Departing) == 0 && s.now < until {
		s.hold(until)
		return false
	}
	return true
}

// overdueAfter is after how many of the longest waits a reshard that is still
// awaited is a trouble. A foreign leader assigns at its next instant, which
// may be tomorrow.
const overdueAfter = 3

func (s *State) reshardOverdue() bool {
	return s.reshard.since != 0 && !s.company.foreignLeads && s.o.ReshardWait != 0 && s.now-s.reshard.since > overdueAfter*s.o.ReshardWait
}
