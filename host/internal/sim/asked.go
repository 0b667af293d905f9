package sim

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// asking is an operator who requests runs of some items, mostly with a parameter that no
// other run has.
type asking struct {
	draws     *draws
	askedRuns map[runKey]protocol.Entry
}

// askedSeed separates the operator's draws from the other draws that only some worlds have.
const askedSeed = 0x94d049bb133111eb

// nextAsked lets the operator make such requests again and again.
func (w *World) nextAsked() {
	w.after(w.ledger.draws.between(500*millisecond, 5*second), func() {
		switch {
		case w.noTicks:
			return
		case w.orderly && w.now < w.quiet-lastPause, !w.calm: // each member sees an instant after the last request
			w.askForItems()
		}
		w.nextAsked()
	})
}

// askForItems requests a run of some items, unless the operators' own verb would refuse it.
func (w *World) askForItems() {
	v, now, x := w.ledger.v, w.registryTime(), w.ledger.draws
	if v == nil || v.Config == nil || !v.Assignment.Exists || len(v.Instances) == 0 || shared(v) || pausedAt(v, now) || w.damaged > 0 {
		return
	}
	w.asks++
	var runs []protocol.Pending
	for i := range min(v.Config.Total, len(v.Items)) {
		waits := slices.ContainsFunc(v.Pending, func(p protocol.Pending) bool { return p.Item == i })
		if waits || !v.Items[i].Exists || v.Items[i].Disabled || lastOf(v, i) > now || x.chance(0.5) {
			continue
		}
		e := protocol.Entry{Item: i, Instant: now, Trigger: fmt.Sprintf("t-%d", w.asks), Cause: protocol.Triggered, Attempt: 1}
		if x.chance(0.8) {
			e.Param = fmt.Sprintf("for %d of %s", i, e.Trigger)
		}
		if x.chance(0.3) {
			e.First = now - x.between(1, 9000)
		}
		w.ledger.askedRuns[keyOf(e)] = e
		runs = append(runs, protocol.Pending{Item: i, Entry: e, After: now})
	}
	if len(runs) > 0 {
		w.apply(nil, layout.Enqueue(w.job, v, runs), origin{what: "operator lets " + fmt.Sprint(len(runs)) + " items run"})
	}
}

// given checks that a run has the parameter and the first instant that were requested, and
// none of these if it was not requested in this way.
func (l *ledger) given(e protocol.Entry, by string) {
	if was := l.askedRuns[keyOf(e)]; e.Param != was.Param || e.First != was.First {
		l.w.breach("parameters", "%s: item %d run %s#%d has the parameter %q and the first instant %d, and was asked for with %q and %d",
			by, e.Item, runName(e), e.Attempt, e.Param, e.First, was.Param, was.First)
	}
}
