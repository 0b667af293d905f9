package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// tried judges what waits to be tried again, and what began that waited.
func (l *ledger) tried(r, was *protocol.Runs, by author) {
	for _, t := range r.Retries {
		if was != nil && slices.Contains(was.Retries, t) {
			continue
		}
		p := l.w.options.Retry
		state, ran := l.ended[attempt{keyOf(t.Entry), t.Attempt - 1}]
		if t.Attempt > p.Attempts || !ran || state != protocol.Failed && state != protocol.TimedOut {
			l.w.breach("retries", "%s: item %d run %s is to be tried again as attempt %d, of %d, after %q", by, t.Item, runName(t.Entry), t.Attempt, p.Attempts, state)
		}
		if _, ok := by.m.(protocol.Complete); ok && t.After < by.now+min(p.Backoff, 1) {
			l.w.breach("retries", "%s: item %d run %s is to be tried again at once", by, t.Item, runName(t.Entry))
		}
	}
	if was == nil {
		return
	}
	for _, t := range was.Retries {
		k := slices.IndexFunc(r.Open, func(e protocol.Entry) bool { return e.Same(t.Entry) })
		if k < 0 {
			continue
		}
		switch {
		case by.now < t.After:
			l.w.breach("retries", "%s: item %d run %s is tried again %d ms too early", by, t.Item, runName(t.Entry), t.After-by.now)
		case by.later(t.Instant):
			l.w.breach("no overtaken run", "%s: item %d run %s is tried again, but a later instant had come", by, t.Item, runName(t.Entry))
		}
	}
}
