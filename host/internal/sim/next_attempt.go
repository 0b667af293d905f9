package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// nextAttempt checks a run that began again after self-fencing ended it: no later
// instant had come, and no operator forbade it. Only entries with another attempt than
// before began again.
func (l *ledger) nextAttempt(m protocol.NextAttempt, by origin) {
	v := by.view
	for _, e := range m.Own.Open {
		if was := entryOf(v, m.Self, e.Item); was.Attempt == e.Attempt {
			continue
		}
		switch {
		case by.later(e.Instant):
			l.w.breach("no overtaken run", "%s: item %d run %s, but a later instant had come", by, e.Item, runName(e))
		case forbidden(v, m.Self, e, by.registryTime()):
			l.w.breach("disabled items", "%s runs item %d again, seeing that it must not", by, e.Item)
		}
	}
}

// forbidden reports whether an operator's settings prevent the run from beginning there.
func forbidden(v *protocol.View, id protocol.ID, e protocol.Entry, now int64) bool {
	return pausedAt(v, now) && e.Trigger == "" || banned(v, id) || e.Item < len(v.Items) && v.Items[e.Item].Disabled
}
