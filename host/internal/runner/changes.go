package runner

import (
	"log/slog"

	"github.com/wasmjob/wasmjob/host/internal/status"
)

// logChanges logs what has changed in the job since was, which may be an earlier
// member's.
func (m *member) logChanges(was *snapshot) {
	if was == nil || was.view == nil || was.view == m.loop.View() || m.self == "" {
		return
	}
	for _, n := range status.Between(was.view, m.loop.View(), m.self) {
		level := slog.LevelInfo
		if n.Bad {
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("reason", n.Why.String()), slog.String("reason_code", string(n.Why.Code))}
		for name, value := range n.Why.Params() { // no reason has more than one
			attrs = append(attrs, slog.String(name, value))
		}
		m.Log.LogAttrs(m.life.ctx, level, n.Why.Event(), attrs...) //nolint:sloglint // it is one for each code
	}
	if before, now := was.effective.job.ModuleDigest, m.effective.job.ModuleDigest; before != "" && now != before {
		m.Log.Info("the module was switched", "module", now, "before", before)
	}
}
