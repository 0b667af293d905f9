package protocol

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// triggered reports whether an operator's request waits at our instance.
func (s *State) triggered() bool {
	if s.self == "" || s.view == nil {
		return false
	}
	in := s.view.instance(s.self)
	return in != nil && in.Request != 0
}

// request accepts the trigger at our instance: from now on it is in our record. Items that
// cannot run by it get a row at once; triggers begins the others. An item whose nodes do not
// yet agree that it is ours waits like any other.
func (b *beginning) request() {
	s := b.s
	if !s.triggered() {
		return
	}
	t := Trigger{ID: s.requestID(), At: s.now}
	for _, i := range b.asked() {
		switch {
		case s.view.item(i).Disabled:
			b.m.Own.row(b.declined(t, i, reason.ItemDisabled))
		case b.waiting(i):
			b.m.Own.row(b.declined(t, i, reason.AnotherRequestWaited))
		case s.busy(i) && !s.o.Queue && !s.o.Replace:
			b.m.Own.row(b.declined(t, i, reason.StillRunning))
		default:
			if s.busy(i) && s.o.Replace {
				s.note(stops{i, reason.ReplacedByTrigger})
			}
			t.Items = append(t.Items, i)
		}
	}
	b.m.Ack, b.changed = true, true
	if len(t.Items) > 0 {
		b.m.Own.Triggers = append(b.m.Own.Triggers, t)
	}
}

// asked notes that the request at our instance is accepted, and lists its items: those that
// the assignment gives to this member, except those from a member that had accepted this
// request or a later one.
func (b *beginning) asked() []int {
	s := b.s
	rev := s.view.instance(s.self).Request
	var items []int
	for i, owner := range s.view.Assignment.Owners {
		if owner == s.self && max(at(s.view.Assignment.Requested, i), at(s.own().Requested, i)) < rev {
			b.m.Own.Requested = set(b.m.Own.Requested, i, rev)
			items = append(items, i)
		}
	}
	return items
}

// asks reports whether a request waits at the instance, if there is one, that no owner has
// accepted for the item by what next says.
func (in *Instance) asks(next *Assignment, i int) bool {
	return in != nil && in.Request > at(next.Requested, i)
}

// waiting reports whether an accepted request waits for the item.
func (b *beginning) waiting(i int) bool {
	return slices.ContainsFunc(b.m.Own.Triggers, func(t Trigger) bool {
		_, ok := slices.BinarySearch(t.Items, i) // ascending, in the order of the request
		return ok
	})
}

// decline acknowledges the trigger at our instance, and runs none of its items: each gets a
// row with the reason.
func (b *beginning) decline(why reason.Code) {
	t := Trigger{ID: b.s.requestID(), At: b.s.now}
	for _, i := range b.asked() {
		b.m.Own.row(b.declined(t, i, why))
	}
	b.m.Ack = true
}

// requestID is the id of the request at our instance; there must be one.
func (s *State) requestID() string { return s.view.instance(s.self).requestID() }

// requestID is the request's id, made from the revision that wrote it.
func (in *Instance) requestID() string { return fmt.Sprintf("t%d", in.Request) }

// declined is the row of an item that does not run by the request.
func (b *beginning) declined(t Trigger, i int, why reason.Code) Row {
	return t.skipped(i, why, b.s.now, b.s.self)
}

// unaccepted gives a row to each item that moves away from a member with a request for it
// that was not accepted. If the new owner has a request as well, the item runs by that one
// and gets no row.
func (s *State) unaccepted(next *Assignment, own *RunsData) {
	v := s.view
	for i, owner := range v.Assignment.Owners {
		from, to := v.instance(owner), v.instance(next.owner(i))
		if next.owner(i) == owner || !from.asks(next, i) || to.asks(next, i) {
			continue
		}
		why := reason.ItemMoved
		if i >= next.Total {
			why = reason.ItemGone
		}
		t := Trigger{ID: from.requestID(), At: s.now}
		own.row(t.skipped(i, why, s.now, owner))
		next.Requested = set(next.Requested, i, from.Request)
	}
}

// triggers begins accepted requests whose items are idle.
func (b *beginning) triggers() {
	s := b.s
	var kept []Trigger
	for _, t := range b.m.Own.Triggers {
		var rest []int
		for _, i := range t.Items {
			if s.view.awaitsTaker(i) || !s.mine(i) || s.view.item(i).Disabled || s.busy(i) || b.taken[i] || b.blocked(i) != "" {
				rest = append(rest, i)
				continue
			}
			e := Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1, Begun: s.now}
			if !b.fits(e, nil) {
				b.m.More = true
				rest = append(rest, i)
				continue
			}
			b.add(e)
		}
		if t.Items = rest; len(rest) > 0 {
			kept = append(kept, t)
		}
	}
	b.m.Own.Triggers = kept
}
