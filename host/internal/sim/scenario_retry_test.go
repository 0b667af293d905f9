package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Scenarios of runs that wait for their next attempt while their items move. Instants are
// far apart, so none comes during the wait.

func retryScenarios() []scenario {
	two := func(w *World) {
		w.plain(2, 40)
		w.config.Failover = false
		w.options.Retry = protocol.RetryPolicy{Attempts: 3, Backoff: 3000}
		w.ours(1, 0)
		w.ours(2, -1)
	}
	return []scenario{
		{"a run waits to be tried again, and its item moves", two, retriedElsewhere(func(w *World) { w.members[1].start() })},
		{"a run waits to be tried again, and its member leaves", two, retriedElsewhere(func(w *World) {
			w.members[1].start()
			w.after(second, func() { w.request(w.members[0], protocol.AskLeave{}) })
		})},
	}
}

// retriedElsewhere: the runs of the first member fail, and then it loses items. The other
// member makes their next attempts.
func retriedElsewhere(loses func(*World)) func(*World) driver {
	return func(w *World) driver {
		at := int64(1_700_000_040_000)
		reached, lost := false, false
		w.at((1_700_000_000+50)*second, func() {
			if !reached {
				w.breach("retries", "the item has gone to another member, and nobody has tried its run again")
			}
		})
		tried := func(e protocol.Entry) bool { return e.Instant == at && e.Attempt == 2 }
		return driver{
			reached: &reached,
			fails:   func(e protocol.Entry) bool { return e.Instant == at && e.Attempt == 1 },
			change: func(_, now *protocol.View) {
				for k := range now.Runs {
					r := &now.Runs[k]
					first := r.ID.IP() == w.members[0].ip
					if first && len(r.Retries) > 0 && !lost {
						lost = true
						w.after(second/10, func() { loses(w) })
					}
					reached = reached || !first && slices.ContainsFunc(r.Open, tried)
				}
			},
		}
	}
}
