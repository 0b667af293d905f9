package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// reshardsDuringLongRuns: there is no moment at which all items are idle, and a server
// that comes gets its share nevertheless.
func reshardsDuringLongRuns(w *World) driver {
	b := w.members[1]
	reached := false
	w.at((1_700_000_000+60)*second, func() {
		if !reached {
			w.breach("a reshard starves", "%s came 38 s ago and has no item", b.name())
		}
	})
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		if !reached && b.st != nil && b.st.Self() != "" && slices.Contains(now.Assignment.Owners, b.st.Self()) {
			reached, w.slowJobs = true, 0 // at the end every instant must find its items idle
		}
	}}
}
