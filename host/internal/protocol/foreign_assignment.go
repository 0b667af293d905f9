package protocol

import "slices"

// A foreign leader writes the owners' nodes, and knows nothing of the assignment. Our
// members follow its assignment once one of them has adopted it.

// unadopted reports whether the owners' nodes differ from the assignment, or no member of
// ours has checked them since a foreign leader wrote them. While that leader is still
// writing them, nothing is adopted. An item with an open run on one of our members does not
// count, because it keeps its owner until the run ends. Where addresses name members there
// is nothing to adopt: no member of ours takes part beside a foreign one.
func (v *View) unadopted() bool {
	if v.ByAddress || !v.foreignLeads() || v.Processing || !v.Assignment.Exists || v.ConfigFault != "" || v.Config == nil {
		return false
	}
	differs := v.assignmentUnsettled() || v.Assignment.Total != v.total()
	for i := range v.total() {
		it := v.item(i)
		if !it.Exists || it.Owner == "" {
			return false
		}
		differs = differs || it.Owner != v.Assignment.owner(i) && !v.open(i)
	}
	return differs
}

// adopt changes the assignment to what a foreign leader has assigned. Items with open runs
// on our members keep their owners until the runs end.
func adopt(s *facts) Mutation {
	v := s.view
	if !s.company.reclaims || s.session.health != Trusted || !v.unadopted() {
		return nil
	}
	next := v.Assignment.clone()
	next.Total, next.Members, next.Departing = v.total(), v.eligible(), nil
	next.Owners = make([]ID, next.Total)
	for i := range next.Owners {
		next.Owners[i] = v.item(i).Owner
	}
	for k := range v.Runs {
		for _, e := range v.Runs[k].Open {
			owner := v.Assignment.owner(e.Item)
			if e.Item >= next.Total || owner == "" {
				return nil // the item is gone or nobody's, so its run must end first
			}
			next.Owners[e.Item] = owner
		}
	}
	for _, owner := range next.Owners {
		if !slices.Contains(next.Members, owner) {
			next.Members = append(next.Members, owner)
		}
	}
	slices.SortFunc(next.Members, func(a, b ID) int { return compare(b, a) })
	m := Adopt{Check: s.recorded(&next), Moving: s.moving(&next)}
	own := s.next(s.own())
	seq := own.Seq
	s.accountFor(&next, &own)
	s.unaccepted(&next, &own)
	if own.Seq > seq { // rows were added, so the own record is written, too
		m.Self, m.Own = s.self, own
	}
	m.Items, m.Next = s.room().first(indexes(next.Total)), next
	return m
}

// recorded lists the members with a record, and merges the records into next: an item's new
// owner must know up to where it is accounted for. The transaction checks that none of these
// records has changed.
func (s *State) recorded(next *Assignment) []ID {
	var ids []ID
	next.Schedules = s.schedule.known
	for k := range s.view.Runs {
		ids = append(ids, s.view.Runs[k].ID)
		next.fold(s.view.Runs[k].RunsData)
	}
	return ids
}
