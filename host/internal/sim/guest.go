package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// run starts a guest. It works, may fail, and writes its token to the sink when it begins
// and ends.
func (m *member) run(e protocol.Run) {
	w := m.w
	g := &running{Entry: e.Entry, m: m, fence: e.Fence, session: m.s, since: w.now, result: protocol.Succeeded}
	w.tracef("%s: guest of item %d starts, run %s attempt %d fence %d", m.name(), e.Entry.Item, runName(e.Entry), e.Entry.Attempt, e.Fence)
	m.guests = append(m.guests, g)
	w.guestsRun++
	w.ledger.starts(g)
	d := w.between(5*millisecond, 300*millisecond)
	switch {
	case w.chance(w.slowJobs):
		d = w.between(w.profile.long[0], w.profile.long[1]) * millisecond
	case w.chance(0.2):
		d = w.between(1, 5*millisecond)
	}
	switch {
	case w.chance(0.1):
		g.result = protocol.Failed
	case w.chance(0.03):
		g.result = protocol.TimedOut
	}
	if f := w.driver.fails; f != nil && f(e.Entry) {
		g.result = protocol.Failed
	}
	m.later(d, func() { g.end(g.result, reason.Reason{}) })
	switch {
	case w.dooms(m, e.Entry):
		w.laterIn(m, w.between(0, 3*millisecond), func() { w.crash(m) })
	case !w.calm && w.chance(w.profile.deaths):
		w.laterIn(m, w.between(0, 3*second), func() { w.crash(m) })
	}
}

// end ends a guest, unless it has ended.
func (g *running) end(state protocol.RowState, why reason.Reason) {
	if g.over {
		return
	}
	m := g.m
	g.over = true
	m.guests = slices.DeleteFunc(m.guests, func(o *running) bool { return o == g })
	m.w.ledger.writes(g)
	m.w.ledger.ended[attempt{keyOf(g.Entry), g.Attempt}] = state
	m.w.tracef("%s: guest of item %d ends, run %s attempt %d: %s", m.name(), g.Item, runName(g.Entry), g.Attempt, state)
	m.step(protocol.Finished{{Entry: g.Entry, State: state, Why: why}})
}

// cancel ends the guest of an item: at once if hard, else by asking it.
func (m *member) cancel(e protocol.Cancel) {
	w := m.w
	for _, g := range m.guests {
		if g.Item != e.Item {
			continue
		}
		w.ledger.cancels(g, e.Hard)
		w.tracef("%s: cancel item %d, hard %v: %s", m.name(), e.Item, e.Hard, e.Why)
		if e.Hard {
			// It has ended; the loop receives that on its next turn.
			g.over = true
			w.ledger.ended[attempt{keyOf(g.Entry), g.Attempt}] = protocol.Cancelled
			m.guests = slices.DeleteFunc(m.guests, func(o *running) bool { return o == g })
			m.later(1, func() {
				m.step(protocol.Finished{{Entry: g.Entry, State: protocol.Cancelled, Why: e.Why}})
			})
			return
		}
		g.asked(e.Why)
		return
	}
}

// asked asks a guest to stop, which it mostly does.
func (g *running) asked(why reason.Reason) {
	if w := g.m.w; w.chance(0.7) {
		g.m.later(w.between(1, 200*millisecond), func() { g.end(protocol.Cancelled, why) })
	}
}

// drain asks all guests to stop, in the order of their items so that a seed repeats. The
// core lets them go on for a while; here that is a moment.
func (m *member) drain(why reason.Reason) {
	m.w.tracef("%s: drains: %s", m.name(), why)
	guests := slices.SortedFunc(slices.Values(m.guests), func(a, b *running) int { return a.Item - b.Item })
	for _, g := range guests {
		g.asked(why)
	}
}
