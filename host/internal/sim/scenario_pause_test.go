package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// pauseScenarios have a pause that ends by itself.
func pauseScenarios() []scenario {
	return []scenario{
		{"a pause ends after the leader has died, and nobody says so", func(w *World) {
			w.plain(4, 20)
			w.ours(1, 0)
			w.ours(2, 3)
		}, pauseEnds},
	}
}

func pauseEnds(w *World) driver {
	a, begun := w.members[0], false
	until := int64(1_700_000_040) * 1000
	w.atSecond(15, func() {
		w.tool(protocol.SetPaused{Paused: true, Pause: protocol.Pause{Since: w.registryTime(), Until: until}})
	})
	w.atSecond(25, a.dies)
	w.atSecond(60, a.start)
	w.atSecond(50, func() {
		if !begun {
			w.breach("pause", "nothing has begun since it ended")
		}
	})
	return driver{reached: &begun, change: func(_, now *protocol.View) {
		for k := range now.Runs {
			begun = begun || slices.ContainsFunc(now.Runs[k].Open, func(e protocol.Entry) bool { return now.Paused && e.Cause == protocol.Scheduled && e.Instant >= until })
		}
	}}
}
