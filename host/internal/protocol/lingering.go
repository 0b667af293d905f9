package protocol

import "slices"

// A member that is killed stays registered until its session is over. If all died at
// once, the first server that comes finds all of them registered, and learns only later
// that they had been dead.

// lingering are the members that were there as this one joined and have not been seen
// dead since, and how far they were then.
type lingering struct {
	ids     []ID
	records []int32 // the versions of theirs
	leader  ID
	epoch   int32
	since   int64 // when that was
}

// lingerers are the members that are registered, if they may be dead and the job catches
// up; nil otherwise.
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

// seeLingering finds out whether those who were there as this member joined were dead. One
// that lives soon writes something: it is the leader who assigns items to who has joined.
func (s *State) seeLingering() {
	l, v := s.backlog.catchUp.lingering, s.view
	if l == nil || s.self == "" {
		return
	}
	for k, id := range slices.Backward(l.ids) {
		r := v.runs(id)
		switch {
		case r == nil || r.Version != l.records[k], v.Leader == id && (l.leader != id || l.epoch != v.Assignment.Version):
			s.backlog.catchUp.lingering = nil
			return
		case v.dead(id): // what becomes of its record from now on is others' doing
			l.ids, l.records = slices.Delete(l.ids, k, k+1), slices.Delete(l.records, k, k+1)
		}
	}
	if len(l.ids) == 0 {
		s.backlog.catchUp.lingering, s.backlog.catchUp.empty = nil, l.since
	}
}
