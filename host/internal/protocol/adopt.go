package protocol

import "slices"

// Under a leader of ElasticJob the items are dealt in its own way: it writes the
// owners' nodes and knows nothing of the assignment. What it dealt counts for
// members of ours once one of them has adopted it.

// foreignLeads tells whether a member that is not ours leads, or is about to be
// there and does.
func (v *View) foreignLeads() bool { return v.Leader != "" && !v.member(v.Leader) }

// unadopted: the items have been dealt, and not as the assignment says.
func (v *View) unadopted() bool {
	if !v.foreignLeads() || v.Necessary || v.Processing || !v.Assignment.Exists || v.ConfigFault != "" || v.Config == nil {
		return false
	}
	differs := v.Assignment.Total != v.total()
	for i := range v.total() {
		it := v.item(i)
		if !it.Exists || it.Owner == "" {
			return false
		}
		differs = differs || it.Owner != v.Assignment.owner(i)
	}
	return differs
}

// adopt takes over what a leader of ElasticJob has dealt. As with a reshard of
// ours, no item moves away from a member that has it open, and the dead are
// enqueued before.
func adopt(s *State, _ *Plan) Mutation {
	v := s.view
	if !s.reclaims() || s.doubt != Trusted || s.config() == nil || !v.unadopted() || s.deadRecord() != nil {
		return nil
	}
	next := v.Assignment.clone()
	next.Total, next.Members = v.total(), v.eligible()
	next.Owners = make([]ID, next.Total)
	for i := range next.Owners {
		owner := v.item(i).Owner
		if next.Owners[i] = owner; !slices.Contains(next.Members, owner) {
			next.Members = append(next.Members, owner)
		}
	}
	slices.SortFunc(next.Members, func(a, b ID) int { return compare(b, a) })
	if s.movesRunning(&next) {
		return nil
	}
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

// recorded lists those who have a record, all alive, and folds what they have
// accounted for into next.
func (s *State) recorded(next *Assignment) []ID {
	var ids []ID
	for k := range s.view.Runs {
		ids = append(ids, s.view.Runs[k].ID)
		next.fold(&s.view.Runs[k].RunsData)
	}
	return ids
}

// deadRecord is that of a member which nobody has enqueued yet; nil if there is
// none.
func (s *State) deadRecord() *Runs {
	for k := range s.view.Runs {
		if d := &s.view.Runs[k]; s.view.dead(d.ID) {
			return d
		}
	}
	return nil
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
