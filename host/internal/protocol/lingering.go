package protocol

import "slices"

// A member that is killed stays registered until its session is over. If all members died
// at once, the first server that joins finds all of them registered, and learns only later
// that they were dead.

// lingering lists the members that were registered when this one joined and have not been
// found dead since, with the versions of their records at that time.
type lingering struct {
	ids     []ID
	records []int32 // versions of their records
	leader  ID
	epoch   int32
	since   int64 // when this member joined
}

// lingerers returns the members that are registered but may be dead; nil if there are none,
// or if it does not matter: the job does not catch up, or unattendedUntil would be 0 even
// without these members. A member without a record may write nothing for long, so whether it
// is dead could not be seen.
func (s *State) lingerers() *lingering {
	v := s.view
	if s.o.CatchUp == 0 || s.backlog.away.why != "" || s.allDisabled() || s.company.shared || v.assignedElsewhere() {
		return nil
	}
	l := &lingering{leader: v.Leader, epoch: v.Assignment.Version, since: s.dateOf(s.now)}
	for _, m := range v.Members {
		if !v.attends(m) {
			continue
		}
		r := v.runs(m.ID)
		if r == nil {
			return nil
		}
		l.ids, l.records = append(l.ids, m.ID), append(l.records, r.Version)
	}
	if len(l.ids) == 0 {
		return nil
	}
	return l
}

// seeLingering finds out whether the members that were registered when this one joined are
// dead. A live member soon writes something: its record or, as the leader, the assignment,
// which gives items to the new member. If one of them has, the search ends. If all have been
// found dead, no server was there when this one joined.
func (s *State) seeLingering() {
	l, v := s.backlog.catchUp.lingering, s.view
	if l == nil || s.self == "" {
		return
	}
	for k, id := range slices.Backward(l.ids) {
		r := v.runs(id)
		switch {
		case r == nil || r.Version != l.records[k], v.Leader == id && (l.leader != id || l.epoch != v.Assignment.Version): // it lives
			s.backlog.catchUp.lingering = nil
			return
		case v.dead(id): // from now on others change its record
			l.ids, l.records = slices.Delete(l.ids, k, k+1), slices.Delete(l.records, k, k+1)
		}
	}
	if len(l.ids) == 0 {
		s.backlog.catchUp.lingering, s.backlog.catchUp.empty = nil, l.since
	}
}
