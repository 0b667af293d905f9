package runner

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// missedInstants returns the newest instants of the gaps in r, ascending, at most r.Most of
// them, so that the core can catch up. A gap with an unreadable schedule contributes none,
// and its row says so.
func (m *member) missedInstants(r protocol.Recall) []int64 {
	var all []int64
	for _, g := range slices.Backward(r.Gaps) {
		if len(all) == r.Most {
			break
		}
		newest, err := m.Clock.Newest(g.Cron, g.After, g.Until, r.Most-len(all))
		if err != nil {
			m.Log.Warn("instants that were missed cannot be caught up: their schedule cannot be read", "cron", g.Cron, "error", err)
		}
		all = append(newest, all...)
	}
	return all
}
