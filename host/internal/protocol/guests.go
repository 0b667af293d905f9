package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// guests are this member's runs, including ends that no commit has written yet.
type guests struct {
	all  []guest // ascending by item
	ends ends
}

type guest struct {
	Entry
	ended   bool
	state   RowState
	why     reason.Reason
	flow    Flow
	asked   bool // the guest asked for another attempt
	fenced  bool // it was asked to stop because the session is in doubt
	killed  bool // it got a hard Cancel
	drained bool // it stopped only because its member left
	items   []int
	unbegun bool // the run had no guest
}

// of returns the item's guest; nil if there is none. One that has ended stays until its end
// is in the record.
func (g *guests) of(i int) *guest {
	k, ok := slices.BinarySearchFunc(g.all, i, func(o guest, i int) int { return o.Item - i })
	if !ok {
		return nil
	}
	return &g.all[k]
}

// start runs the guests of entries that a commit has just opened; items are ascending.
// While the session is in doubt nothing starts, and act starts them later.
func (s *State) start(open []Entry, items []int, fence int64, p *Plan) {
	if s.session.health != Trusted || s.session.lost {
		return
	}
	for _, e := range open {
		if _, ok := slices.BinarySearch(items, e.Item); ok {
			s.run(e, fence, items, p)
		}
	}
}

// run starts the guest of an open entry, unless the item has one. fence is the revision that
// began the run, and items are those that began together with it.
func (s *State) run(e Entry, fence int64, items []int, p *Plan) {
	k, ok := slices.BinarySearchFunc(s.guests.all, e.Item, func(g guest, i int) int { return g.Item - i })
	if ok {
		return
	}
	s.guests.all = slices.Insert(s.guests.all, k, guest{Entry: e, items: items})
	p.add(Run{Entry: e, Fence: fence, Items: items})
}

// act makes the guests match the own record. An open entry without a guest gets one: its
// commit was applied, but not answered. A guest without an entry is ended and forgotten.
func (s *State) act(p *Plan) {
	own := s.own()
	if own == nil {
		return
	}
	s.guests.all = slices.DeleteFunc(s.guests.all, func(g guest) bool {
		e := own.entry(g.Item)
		return g.ended && (e == nil || !e.Same(g.Entry))
	})
	for k := range s.guests.all {
		g := &s.guests.all[k]
		if e := own.entry(g.Item); !g.ended && (e == nil || !e.Same(g.Entry)) {
			s.cancel(g.Item, true, reason.RecordGone, p)
		}
	}
	if s.session.health != Trusted {
		return
	}
	for _, e := range own.Open {
		if s.guests.of(e.Item) != nil {
			continue
		}
		if s.session.leaving { // it ends unbegun
			k, _ := slices.BinarySearchFunc(s.guests.all, e.Item, func(g guest, i int) int { return g.Item - i })
			s.guests.all = slices.Insert(s.guests.all, k, guest{Entry: e, ended: true, unbegun: true, state: Cancelled, drained: true, why: reason.Of(reason.ShuttingDown)})
			continue
		}
		s.run(e, own.Modified, []int{e.Item}, p)
	}
}

// finished notes how a guest has ended; complete writes it. A Cancelled guest has the reason
// for which it was cancelled here, if there is one. Cancelled without such a reason while
// the member leaves, it was drained: the run itself is not at fault.
func (s *State) finished(e End) {
	g := s.guests.of(e.Entry.Item)
	if g == nil || !g.Same(e.Entry) || g.ended {
		return
	}
	g.ended, g.state, g.flow, g.asked = true, e.State, e.Flow, e.Asked
	g.drained = s.session.leaving && e.State == Cancelled && g.why.None()
	if s.guests.ends.first == 0 {
		s.guests.ends.first = s.now
	}
	s.guests.ends.last = s.now
	if g.why.None() || e.State != Cancelled {
		g.why = e.Why
	}
}

// stops asks the guest of an item to stop.
type stops struct {
	item int
	why  reason.Code
}

// keep asks the guest to stop. A rule notes stops, since it may not do that itself.
func (n stops) keep(s *State, p *Plan) { s.cancel(n.item, false, n.why, p) }

// cancel asks a guest to stop or, with hard, ends it. It does nothing if the guest was asked
// for the same reason, or was ended.
func (s *State) cancel(i int, hard bool, why reason.Code, p *Plan) {
	g := s.guests.of(i)
	if g == nil || g.ended || g.killed || g.why.Code == why && !hard {
		return
	}
	g.why = reason.Of(why)
	g.killed, g.fenced = g.killed || hard, false
	p.add(Cancel{Item: i, Hard: hard, Why: g.why})
}

// busy reports whether a run of the item is open here, or a guest of it is left.
func (s *State) busy(i int) bool { return s.own().entry(i) != nil || s.guests.of(i) != nil }
