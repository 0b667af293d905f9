package protocol

import (
	"fmt"
	"slices"
)

// triggered: an operator's request waits at our instance.
func (s *State) triggered() bool {
	if s.self == "" || s.view == nil {
		return false
	}
	in := s.view.instance(s.self)
	return in != nil && in.Triggered
}

// request accepts the trigger that was written to our instance: from here on
// it is in our record, whatever becomes of it.
func (b *beginning) request(p *Plan) {
	s := b.s
	if !s.triggered() {
		return
	}
	t := Trigger{ID: s.requestID(), At: s.now}
	for i := range s.view.total() {
		if !s.mine(i) {
			continue
		}
		switch {
		case s.view.item(i).Disabled:
			b.m.Own.row(b.declined(t, i, "the item is disabled"))
		case b.waiting(i):
			b.m.Own.row(b.declined(t, i, "another request was waiting"))
		case s.busy(i) && !s.o.Queue && !s.o.Replace:
			b.m.Own.row(b.declined(t, i, "the run before was still going on"))
		default:
			if s.busy(i) && s.o.Replace {
				s.cancel(i, false, "replaced by a trigger", p)
			}
			t.Items = append(t.Items, i)
		}
	}
	b.m.Ack, b.changed = true, true
	if len(t.Items) > 0 {
		b.m.Own.Triggers = append(b.m.Own.Triggers, t)
	}
}

// waiting: an accepted request waits for the item.
func (b *beginning) waiting(i int) bool {
	return slices.ContainsFunc(b.m.Own.Triggers, func(t Trigger) bool { return slices.Contains(t.Items, i) })
}

// decline accepts the trigger and runs none of its items.
func (b *beginning) decline(why string) {
	t := Trigger{ID: b.s.requestID(), At: b.s.now}
	for i := range b.s.view.total() {
		if b.s.mine(i) {
			b.m.Own.row(b.declined(t, i, why))
		}
	}
	b.m.Ack = true
}

// requestID names the request by the revision that wrote it.
func (s *State) requestID() string { return fmt.Sprintf("t%d", s.view.instance(s.self).Modified) }

func (b *beginning) declined(t Trigger, i int, why string) Row {
	e := Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1}
	return Row{Entry: e, State: Skipped, Why: why, Ended: b.s.now, By: b.s.self}
}

// triggers begins accepted requests whose items are idle.
func (b *beginning) triggers() {
	s := b.s
	var kept []Trigger
	for _, t := range b.m.Own.Triggers {
		var rest []int
		for _, i := range t.Items {
			if s.view.pending(i) != nil || !s.mine(i) || s.view.item(i).Disabled || s.busy(i) || b.taken[i] || b.blocked(i) != "" {
				rest = append(rest, i)
				continue
			}
			b.add(Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1, Begun: s.now})
		}
		if t.Items = rest; len(rest) > 0 {
			kept = append(kept, t)
		}
	}
	b.m.Own.Triggers = kept
}
