package protocol

import "strings"

// A foreign member regards every instance that goes as dead. If another instance has the
// same address, it runs all items again that the owners' nodes give to the instance that
// went, even those whose runs had ended. So a member that leaves in order deletes these
// nodes in the transaction that deletes its instance.

// takenForDead reports whether foreign members would run this member's items again when it
// leaves. They compare addresses by the beginning of an id.
func (s *State) takenForDead() bool {
	c, v := s.config(), s.view
	if c == nil || !c.Failover || !s.company.shared || v.ByAddress { // by address, no node names the owner of a single item
		return false
	}
	for _, in := range v.Instances {
		if in.ID != s.self && strings.HasPrefix(string(in.ID), s.self.IP()) {
			return true
		}
	}
	return false
}

// awaitsForeignAssignment reports whether this member must wait to leave, since a foreign
// leader is assigning, or its assignment is not adopted yet. There is no seal then, so a
// Leave in flight would not be refused if the leader assigned once more, and gave items to
// the leaving member, which is still there. The wait has a bound: the leader may hang.
func (s *facts) awaitsForeignAssignment() bool {
	until := s.reshard.since + s.o.ReshardWait
	if v := s.view; !(s.company.foreignLeads && v.Processing || v.unadopted()) || s.now >= until {
		return false
	}
	s.hold(until)
	return true
}

// leaveOwners adds to a Leave the owners' nodes that would make foreign members regard it
// as a death, which the Leave deletes. If there are too many, it returns a DeleteOwners of
// some instead; those below ownersDeleted are done. Each node is deleted only once: a leader
// assigns items to a member as long as that exists, so deleting them again might never end.
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
