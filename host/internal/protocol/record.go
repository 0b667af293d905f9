package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// forgetTimes is how many times MaxUnstored stored rows a record may have before it is
// written only to drop them.
const forgetTimes = 2

// forget removes rows that the history has stored. Every other write of the record omits
// them as well, so this is only for records with many such rows.
func forget(s *facts) Mutation {
	own := s.own()
	if own == nil || len(own.Rows)-len(s.history.unstored(own)) <= forgetTimes*s.o.MaxUnstored {
		return nil
	}
	return Forget{Self: s.self, Own: s.next(own)}
}

// account gives a row to accepted triggers and retries whose items cannot begin here any
// more: they moved, were disabled or removed, or the member is leaving. A run that another
// member can try again becomes pending for that member.
func account(s *facts) Mutation {
	own := s.own()
	if own == nil || len(own.Triggers)+len(own.Retries) == 0 || s.config() == nil && !s.session.leaving {
		return s.keepSchedule(own)
	}
	m := Account{Self: s.self, Own: s.next(own)}
	m.Own.Triggers = nil
	room := s.ending(&m.Own)
	room.weight.rest += triggersBytes(own.Triggers)
	gives := func(r Row) bool { // false: there is no room for the row now
		if !room.takeWith(0, room.weight.ends(r)) {
			return false // the next transaction has the others
		}
		s.closes(&m.Own, r)
		return true
	}
	m.Own.Retries = slices.DeleteFunc(m.Own.Retries, func(r Retry) bool {
		if why := s.retryNeverBegins(r); why != "" {
			return gives(s.givenUp(r, why))
		}
		p, w := Pending{Item: r.Item, Entry: r.Entry, After: r.After}, room.weight
		w.rest += p.bytes()
		if m.Next == nil { // the first one adds the assignment, whose new epoch refuses a late Take
			w.rest += s.view.Assignment.Bytes()
		}
		if !s.retriesElsewhere(r.Item) || s.view.pending(r.Item) != nil || !room.takeWith(2, w) {
			return false
		}
		m.Pend = append(m.Pend, p)
		if m.Next == nil {
			next := s.view.Assignment.clone()
			m.Next = &next
		}
		return true
	})
	for _, t := range own.Triggers {
		var rest []int
		for _, i := range t.Items {
			if why := s.neverBegins(i); why == "" || !gives(t.skipped(i, why, s.now, s.self)) {
				rest = append(rest, i)
			}
		}
		if t.Items = rest; len(rest) > 0 {
			m.Own.Triggers = append(m.Own.Triggers, t)
		}
	}
	if room.items == 0 {
		return nil
	}
	return m
}

// neverBegins is why an accepted trigger of the item will not begin here; "" if it may. While
// a reshard is asked for, an item may come back.
func (s *State) neverBegins(i int) reason.Code {
	switch {
	case s.session.leaving:
		return reason.ShuttingDown
	case i >= s.view.total() && s.reshard.since == 0:
		return reason.ItemGone
	case s.view.item(i).Disabled:
		return reason.ItemDisabled
	case !s.mine(i) && s.reshard.since == 0:
		return reason.ItemMoved
	}
	return ""
}

// clearMarks removes own marks without an open run: monitoring was switched off, or a write
// of the record was lost while its marks stayed. The leader also removes marks that no
// session holds. Beside foreign members the reclaimer does so after a delay, and also
// removes the marks of items that foreign members took and will not run. No other member
// would, and the item could not run.
func clearMarks(s *facts) Mutation {
	own := s.own()
	if own == nil || s.config() == nil {
		return nil
	}
	m := ClearMarks{Self: s.self}
	left := false
	for i := range s.view.Items {
		it := &s.view.Items[i]
		open := own.entry(i) != nil
		if it.Running == s.o.Session && (!open || !s.config().MonitorExecution) {
			m.Running = append(m.Running, i)
		}
		if it.Failover != "" && it.TakerSession == s.o.Session && !open {
			m.Failover = append(m.Failover, i)
		}
		if !it.leftMark() || !s.isStray(i) {
			continue
		}
		left = true
		if it.Abandoned {
			m.Running = append(m.Running, i)
		}
		if it.Failover != "" && it.TakerSession == 0 {
			m.Failover = append(m.Failover, i)
		}
	}
	if items := s.abandonedMarks(); len(items) > 0 {
		m.Failover, left = append(m.Failover, items...), true
	}
	if left {
		for k := range s.view.Runs {
			m.Check = append(m.Check, s.view.Runs[k].ID)
		}
	}
	if len(m.Running)+len(m.Failover) == 0 {
		return nil
	}
	r := s.room()
	m.Running, m.Failover = r.first(m.Running), r.first(m.Failover)
	return m
}
