package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Scenarios of a job that others run after: its members count how an instant ends, and one
// of them goes before it has ended.

func tallyScenarios() []scenario {
	two := func(w *World) {
		w.plain(2, 6)
		w.ours(1, 0)
		w.ours(2, -1)
	}
	return []scenario{
		{"a member dies that has counted a run", two, countsAndGoes(func(w *World, m *member) {
			s := m.s
			m.crash()
			w.after(1, func() { w.endSession(s) })
			w.after(3*second, m.start)
		})},
		{"a member leaves that has counted a run", two, countsAndGoes(func(w *World, m *member) { w.request(m, protocol.AskLeave{}) })},
	}
}

// countsAndGoes: both members have an item, and the one whose run of an instant ends first
// goes while the other's run goes on. This repeats at each instant until both runs of one
// have succeeded. That instant has ended well all the same, and an instant with a failed
// run has not.
func countsAndGoes(goes func(*World, *member)) func(*World) driver {
	return func(w *World) driver {
		went, reached := int64(0), false
		well := map[int64]map[int]bool{}
		w.atSecond(10, func() { w.members[1].start() })
		w.atSecond(25, func() { w.tool(protocol.Follow{}) })
		return driver{
			reached: &reached,
			change: func(_, now *protocol.View) {
				for k := range now.Runs {
					for _, r := range now.Runs[k].Rows {
						if r.State == protocol.Succeeded && r.Trigger == "" && r.Instant > (1_700_000_025)*1000 {
							well[r.Instant] = also(well[r.Instant], r.Item)
						}
					}
				}
				good := map[int64]bool{}
				for _, e := range now.Endings() {
					good[e.Instant] = e.Good()
				}
				for at, items := range well {
					if good[at] != (len(items) == 2) {
						w.breach("tally", "%d of 2 items have ended %d well, and that it counts as ended well is %v", len(items), at, good[at])
					}
				}
				reached = reached || good[went]
				if m, at := halfEnded(w, now); m != nil && at > went && !reached {
					went = at
					w.after(1, func() { goes(w, m) })
				}
			},
		}
	}
}

func also(items map[int]bool, i int) map[int]bool {
	if items == nil {
		items = map[int]bool{}
	}
	items[i] = true
	return items
}

// halfEnded returns a member that has ended its run of an instant while the other has it
// open; nil: there is none.
func halfEnded(w *World, v *protocol.View) (*member, int64) {
	if len(v.Runs) != 2 {
		return nil, 0
	}
	for k := range v.Runs {
		for _, e := range v.Runs[1-k].Open {
			counts := slices.ContainsFunc(v.Runs[k].Tallies, func(t protocol.Tally) bool { return t.Instant == e.Instant })
			if m := w.known(v.Runs[k].ID); counts && m != nil {
				return m, e.Instant
			}
		}
	}
	return nil, 0
}
