package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// Scenarios of values that are too large for one transaction.

func bytesScenarios() []scenario {
	return []scenario{
		{"runs that began and ended at different times do not fit into the record", func(w *World) {
			w.plain(40, 2)
			w.config.MonitorExecution = false
			w.slowJobs, w.profile.long = 0.7, [2]int64{100, 9000}
			w.options.MaxBytes = 5650
			w.ours(1, 0)
		}, waitsForRoom},
	}
}

// waitsForRoom: a begin leaves some of the due items to another begin.
func waitsForRoom(*World) driver {
	reached := false
	return driver{reached: &reached, sending: func(_ *member, mu protocol.Mutation) {
		if b, ok := mu.(protocol.Begin); ok && b.More {
			reached = true
		}
	}}
}
