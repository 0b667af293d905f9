package protocol

import "slices"

// A foreign leader assigns items in its own way: it writes the owners' nodes and knows
// nothing of the assignment. Our members use what it assigned once one of them has
// adopted it.

// unadopted: the owners' nodes differ from the assignment, or no member of ours has
// checked them since a foreign leader wrote them. While that leader still writes them,
// nothing is adopted. An item with an open run on one of our members does not count: it
// keeps its owner until the run ends. Where addresses name members, there is nothing to
// adopt, since none of ours takes part beside a foreign one.
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

// adopt makes the assignment say what a foreign leader has assigned. Items that are open
// on our members keep their owner until the run ends.
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
				return nil // its owner is gone
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
	if own.Seq > seq {
		m.Self, m.Own = s.self, own
	}
	m.Items, m.Next = s.room().first(indexes(next.Total)), next
	return m
}

// recorded lists the members with a record, and folds what they have accounted for into
// next.
func (s *State) recorded(next *Assignment) []ID {
	var ids []ID
	next.Schedules = s.schedule.known
	for k := range s.view.Runs {
		ids = append(ids, s.view.Runs[k].ID)
		next.fold(s.view.Runs[k].RunsData)
	}
	return ids
}
