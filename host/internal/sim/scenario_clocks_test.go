package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

const hour = int64(3_600_000) // ms

// clockScenarios have clocks that are an hour ahead.
func clockScenarios() []scenario {
	two := func(w *World) {
		w.plain(4, 5)
		w.config.Misfire = false
		w.showTime()
		w.ours(1, 0)
		w.ours(2, 1)
	}
	return []scenario{
		{"a server's clock is an hour ahead for a while", two, aheadForAWhile},
		{"a leader whose clock is an hour ahead makes new items", two, leaderAhead},
		{"the registry's clock was an hour ahead", two, registryAhead},
		{"the registry's clock was some minutes ahead", two, registryAheadForSome},
		{"the registry's clock was an hour ahead, and somebody comes later", func(w *World) {
			w.plain(4, 5)
			w.showTime()
			w.ours(1, 0)
			w.ours(2, -1)
		}, cameLater},
	}
}

// atSecond schedules do that many seconds after the beginning.
func (w *World) atSecond(s int64, do func()) { w.at((1_700_000_000+s)*second, do) }

// beginsAfter is reached when the member begins an instant later than the given one.
func beginsAfter(w *World, m *member, s int64) driver {
	reached := false
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		if m.st == nil || w.now < (1_700_000_000+s)*second {
			return
		}
		r := recordOf(now, m.st.Self())
		reached = reached || r != nil && slices.ContainsFunc(r.Open, func(e protocol.Entry) bool { return e.Cause == protocol.Scheduled })
	}}
}

func aheadForAWhile(w *World) driver {
	a := w.members[0]
	w.atSecond(20, func() { w.setClock(a, hour) })
	w.atSecond(40, func() { w.setClock(a, 0) })
	return beginsAfter(w, a, 41)
}

func leaderAhead(w *World) driver {
	a, b := w.members[0], w.members[1]
	a.offset = hour
	w.atSecond(20, func() {
		w.config.ShardingTotalCount = 8
		w.tool(protocol.PutConfig{Config: spelling.Text(w.encoded())})
	})
	w.atSecond(50, func() { w.setClock(a, 0) })
	return beginsAfter(w, b, 25)
}

// registryAhead: instants of the hour begin when they come, and none begins twice:
// neither when the clocks are set back a little more, nor on a member that takes over the
// items just then.
func registryAhead(w *World) driver {
	a, b := w.members[0], w.members[1]
	w.atSecond(20, func() { w.setClocks(hour) })
	w.atSecond(40, func() { w.setClocks(0) })
	w.atSecond(65, func() { w.setClocks(-20_000) })
	w.atSecond(102, a.crash)
	w.at((1_700_000_000+106)*second+500*millisecond, func() { w.setClocks(-40_000) })
	w.atSecond(118, a.start)
	return beginsAfter(w, b, 112)
}

// registryAheadForSome: an instant that began ahead of time comes again soon, and does
// not begin again.
func registryAheadForSome(w *World) driver {
	w.atSecond(20, func() { w.setClocks(300_000) })
	w.atSecond(42, func() { w.setClocks(275_000) })
	return beginsAfter(w, w.members[0], 65)
}

// cameLater: a member that was not there while the clock was ahead owns all items.
func cameLater(w *World) driver {
	a, b := w.members[0], w.members[1]
	w.atSecond(20, func() { w.setClocks(hour) })
	w.atSecond(40, func() { w.setClocks(0) })
	w.atSecond(45, b.start)
	w.atSecond(70, a.crash)
	w.atSecond(110, a.start)
	return beginsAfter(w, b, 85)
}
