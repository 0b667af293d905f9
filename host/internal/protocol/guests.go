package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

func (s *State) guest(i int) *guest {
	k, ok := slices.BinarySearchFunc(s.guests, i, func(g guest, i int) int { return g.Item - i })
	if !ok {
		return nil
	}
	return &s.guests[k]
}

// start runs the guests of entries, ascending items, that a commit has just
// opened. While the session is in doubt nothing starts: the entries are begun
// by level later.
func (s *State) start(open []Entry, items []int, fence int64, p *Plan) {
	if s.doubt != Trusted || s.over {
		return
	}
	for _, e := range open {
		if _, ok := slices.BinarySearch(items, e.Item); ok {
			s.run(e, fence, items, p)
		}
	}
}

func (s *State) run(e Entry, fence int64, items []int, p *Plan) {
	k, ok := slices.BinarySearchFunc(s.guests, e.Item, func(g guest, i int) int { return g.Item - i })
	if ok {
		return
	}
	s.guests = slices.Insert(s.guests, k, guest{Entry: e, items: items})
	p.add(Run{Entry: e, Fence: fence, Items: items})
}

// act brings the guests in line with the own record: an open entry without a
// guest is begun (an unknown commit that happened after all), a guest whose
// entry is gone is ended and forgotten.
func (s *State) act(p *Plan) {
	own := s.own()
	if own == nil {
		return
	}
	s.guests = slices.DeleteFunc(s.guests, func(g guest) bool {
		e := own.entry(g.Item)
		return g.ended && (e == nil || !e.Same(g.Entry))
	})
	for k := range s.guests {
		g := &s.guests[k]
		if e := own.entry(g.Item); !g.ended && (e == nil || !e.Same(g.Entry)) {
			s.cancel(g.Item, true, reason.RecordGone, p)
		}
	}
	if s.doubt != Trusted {
		return
	}
	for _, e := range own.Open {
		if s.guest(e.Item) != nil {
			continue
		}
		if s.leaving {
			k, _ := slices.BinarySearchFunc(s.guests, e.Item, func(g guest, i int) int { return g.Item - i })
			s.guests = slices.Insert(s.guests, k, guest{Entry: e, ended: true, unbegun: true, state: Cancelled, drained: true, why: reason.Of(reason.ShuttingDown)})
			continue
		}
		s.run(e, own.Modified, []int{e.Item}, p)
	}
}

func (s *State) finished(e End) {
	g := s.guest(e.Entry.Item)
	if g == nil || !g.Same(e.Entry) || g.ended {
		return
	}
	g.ended, g.state, g.flow, g.asked = true, e.State, e.Flow, e.Asked
	g.drained = s.leaving && e.State == Cancelled && g.why.None()
	if s.ends.first == 0 {
		s.ends.first = s.now
	}
	s.ends.last = s.now
	if g.why.None() || e.State != Cancelled {
		g.why = e.Why
	}
}

// silenced notes why an instant that is due may pass while the registry is in doubt,
// or takes no writes: while a commit is under way no rule is asked.
func (s *State) silenced() {
	switch {
	case s.view == nil:
	case s.doubt != Trusted:
		s.excuseAll(reason.RegistrySilent)
	case s.readOnly:
		s.excuseAll(reason.RegistryReadOnly)
	}
}

// unwritable notes that the registry takes no writes.
func (s *State) unwritable() {
	s.readOnly = true
	s.silenced()
}

// cancel asks a guest to stop, or ends it.
func (s *State) cancel(i int, hard bool, why reason.Code, p *Plan) {
	g := s.guest(i)
	if g == nil || g.ended || g.killed || g.why.Code == why && !hard {
		return
	}
	g.why = reason.Of(why)
	g.killed, g.fenced = g.killed || hard, false
	p.add(Cancel{Item: i, Hard: hard, Why: g.why})
}

// doubted fences the member itself: long before the registry gives its items
// away, nothing starts here any more and what runs is ended.
func (s *State) doubted(level Doubt, p *Plan) {
	s.doubt = level
	s.silenced()
	if level == Expired {
		s.hush(p) // who leads next calls again
	}
	if level == Trusted || s.o.Finish {
		return
	}
	for k := range s.guests {
		g := &s.guests[k]
		if g.ended {
			continue
		}
		fenced := g.fenced || g.why.None() // not if it was asked to stop for another reason
		s.cancel(g.Item, level == Expired, reason.SessionDoubtful, p)
		g.fenced = fenced
	}
}
