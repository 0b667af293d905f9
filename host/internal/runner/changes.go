package runner

import (
	"log/slog"

	"github.com/wasmjob/wasmjob/host/internal/status"
)

// logChanges logs how the job has changed since an earlier snapshot, was, which may come
// from an earlier member. Nothing has changed if there is none, or if its view is still the
// present one. A server that has not joined does not log.
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
		for name, value := range n.Why.Params() { // a reason has at most one
			attrs = append(attrs, slog.String(name, value))
		}
		m.Log.LogAttrs(m.life.ctx, level, n.Why.Event(), attrs...) //nolint:sloglint // the messages are the fixed event names of the codes
	}
	if before, now := was.effective.job.ModuleDigest, m.effective.job.ModuleDigest; before != "" && now != before {
		m.Log.Info("the module was switched", "module", now, "before", before)
	}
}
