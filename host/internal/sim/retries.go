package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// tried checks runs that wait for their next attempt, in the record or for the owner of
// their item, and attempts that began after such a wait.
func (l *ledger) tried(r, was *protocol.Runs, old *protocol.View, by origin) {
	for _, t := range r.Retries {
		if was != nil && slices.Contains(was.Retries, t) {
			continue
		}
		p := l.w.options.Retry
		state, ran := l.ended[attempt{keyOf(t.Entry), t.Attempt - 1}]
		cut := by.ending && (!ran || state == protocol.Cancelled) // its guest was ended since the server leaves
		if cut {
			l.drained[keyOf(t.Entry)]++
		}
		// A run that was taken, or fenced and begun again, may have more attempts than
		// the job allows. An attempt that a drain ends does not count, either.
		if !cut && (t.Attempt-t.Uncounted > p.Attempts || state != protocol.Failed && state != protocol.TimedOut) {
			l.w.breach("retries", "%s: item %d run %s is to be tried again as attempt %d, of %d, after %q", by, t.Item, runName(t.Entry), t.Attempt, p.Attempts, state)
		}
		if n := l.drained[keyOf(t.Entry)]; t.Uncounted != n {
			l.w.breach("retries", "%s: item %d run %s: %d of its attempts are not counted, and %d ended with their member", by, t.Item, runName(t.Entry), t.Uncounted, n)
		}
		if _, ok := by.m.(protocol.Complete); ok && !cut && t.After < by.now+min(p.Backoff, 1) {
			l.w.breach("retries", "%s: item %d run %s is to be tried again at once", by, t.Item, runName(t.Entry))
		}
	}
	if was == nil {
		return
	}
	for _, t := range append(movable(old), was.Retries...) {
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

// movable returns the waiting runs that move with their items.
func movable(v *protocol.View) []protocol.Retry {
	var all []protocol.Retry
	for _, p := range v.Pending {
		if p.After != 0 {
			all = append(all, protocol.Retry{Entry: p.Entry, After: p.After})
		}
	}
	return all
}

// gaveUp checks the last row of a run that the job would have tried again. The only
// reasons to give up are a newer run, another waiting run, and the end of its item.
func (l *ledger) gaveUp(r protocol.Row, old *protocol.View, by origin) {
	v := by.view
	if by.member == nil || v.Config == nil || l.w.options.Retry.Attempts == 0 {
		return
	}
	waits := func(v *protocol.View, which func(protocol.Entry) bool) bool {
		mine := func(t protocol.Retry) bool { return which(t.Entry) }
		return slices.ContainsFunc(movable(v), mine) || slices.ContainsFunc(v.Runs, func(r protocol.Runs) bool { return slices.ContainsFunc(r.Retries, mine) })
	}
	ofItem := func(e protocol.Entry) bool { return e.Item == r.Item }
	_, ended := by.m.(protocol.Complete)
	switch {
	case shared(v): // foreign members would take the waiting run
	case by.ticked > r.Instant || lastOf(v, r.Item) > r.Instant || r.Item >= v.Config.Total || r.Item < len(v.Items) && v.Items[r.Item].Disabled:
	case ended && (r.State == protocol.Failed || r.State == protocol.TimedOut):
		if r.Attempt-r.Uncounted < l.w.options.Retry.Attempts && !waits(v, ofItem) {
			l.w.breach("retries", "%s: item %d run %s has failed as attempt %d of %d, and nobody tries it again", by, r.Item, runName(r.Entry), r.Attempt, l.w.options.Retry.Attempts)
		}
	case ended && r.Why == reason.Of(reason.StopOrdered):
		if !waits(v, ofItem) {
			l.w.breach("retries", "%s: item %d run %s was stopped with its member, and nobody tries it again", by, r.Item, runName(r.Entry))
		}
	case r.State == protocol.Interrupted && waits(old, r.Same):
		began, _ := by.m.(protocol.Begin) // a begin overtakes a waiting run
		// Of two runs of an item one is pending. It may have been taken since the writer
		// looked: a reclaim in parts does not check what the parts before made pending.
		pending := slices.ContainsFunc(slices.Concat(l.v.Pending, v.Pending), func(p protocol.Pending) bool { return p.Item == r.Item })
		if !slices.Contains(began.Begun, r.Item) && !pending {
			l.w.breach("retries", "%s: item %d run %s waited to be tried again, and is given up: %s", by, r.Item, runName(r.Entry), r.Why)
		}
	}
}

// handsOn checks that a run that becomes pending for the owner of its item was waiting in
// the record.
func (l *ledger) handsOn(m protocol.Account, by origin) {
	for _, p := range m.Pend {
		if r := recordOf(by.view, by.self); p.After == 0 || !slices.Contains(r.Retries, protocol.Retry{Entry: p.Entry, After: p.After}) {
			l.w.breach("retries", "%s: item %d run %s did not wait there", by, p.Item, runName(p.Entry))
		}
	}
}

// pend checks that a run becomes pending only while no later run of its item began.
func (l *ledger) pend(p protocol.Pending, old *protocol.View, by origin) {
	if lastOf(old, p.Item) > p.Entry.Instant {
		l.w.breach("no overtaken run", "%s: item %d run %s, but a later one has begun", by, p.Item, runName(p.Entry))
	}
	for k := range old.Runs {
		r := &old.Runs[k]
		if p.After == 0 && alive(old, r.ID) && slices.ContainsFunc(r.Open, func(e protocol.Entry) bool { return e.Item == p.Item }) {
			l.w.breach("no overtaken run", "%s: item %d waits for a taker while %s runs it", by, p.Item, r.ID)
		}
	}
}
