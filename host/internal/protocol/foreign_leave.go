package protocol

import "strings"

// A foreign member regards every instance that goes as dead. If the address has another
// instance, it runs again all items that the owners' nodes give to the one that went,
// even those whose runs had ended. So a member that leaves in order deletes these nodes
// in the transaction that deletes its instance.

// takenForDead: foreign members would run again what this member owns when it leaves.
// They take the address from the beginning of an id.
func (s *State) takenForDead() bool {
	c, v := s.config(), s.view
	if c == nil || !c.Failover || !s.company.shared || v.ByAddress { // there no node of its own names an owner
		return false
	}
	for _, in := range v.Instances {
		if in.ID != s.self && strings.HasPrefix(string(in.ID), s.self.IP()) {
			return true
		}
	}
	return false
}

// awaitsForeignAssignment: a foreign leader assigns, or its assignment is not adopted
// yet. There is no seal then, so a Leave in flight would not be refused if the items
// were assigned once more. Such an assignment gives some to the leaving member, as it is
// still there.
func (s *facts) awaitsForeignAssignment() bool {
	until := s.reshard.since + s.o.ReshardWait
	if v := s.view; !(s.company.foreignLeads && v.Processing || v.unadopted()) || s.now >= until {
		return false
	}
	s.hold(until)
	return true
}

// leaveOwners adds to a Leave what keeps foreign members from regarding it as a death. If
// there are more nodes than fit, the others go before, in transactions of their own,
// each once: a leader assigns to a member as long as that exists, and the two might
// never come to an end.
func (s *facts) leaveOwners(m Leave) Mutation {
	if !s.takenForDead() {
		return m
	}
	if s.awaitsForeignAssignment() {
		return nil
	}
	var items []int
	for i := s.session.ownersDeleted; i < len(s.view.Items); i++ {
		if s.view.Items[i].Owner == s.self {
			items = append(items, i)
		}
	}
	some := s.room().first(items)
	if len(some) < len(items) {
		return DeleteOwners{Items: some}
	}
	m.Listened, m.Items = true, some
	return m
}
