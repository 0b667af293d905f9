package sim

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// backfilling is an operator who requests runs of past instants that had none, and
// sometimes withdraws the request.
type backfilling struct{ asked map[runKey]bool }

// nextBackfill makes such requests from time to time, until the faults end.
func (w *World) nextBackfill() {
	w.after(w.between(second, 5*second), func() {
		if w.calm {
			return
		}
		if w.chance(0.5) {
			w.backfill()
		}
		w.nextBackfill()
	})
}

// backfill requests up to four instants of an item, each once. The operators' own verb
// would refuse that for a paused job, a disabled item and beside foreign members; here the
// request just waits.
func (w *World) backfill() {
	v := w.ledger.v
	if v == nil || v.Config == nil || !v.Assignment.Exists || w.damaged > 0 {
		return
	}
	i := w.rng.IntN(v.Config.Total)
	waits := slices.ContainsFunc(v.Backfills, func(f protocol.Backfill) bool { return f.Item == i })
	switch {
	case waits && w.chance(0.3):
		w.tool(protocol.DropBackfill{Items: []int{i}})
	case waits || i >= len(v.Items) || !v.Items[i].Exists:
	default:
		if all := w.ledger.without(i); len(all) > 0 {
			w.tool(protocol.PutBackfill{Queues: []protocol.Backfill{{Item: i, Instants: all, By: "simulator"}}})
		}
	}
}

// without returns up to four instants of an item, the newest that lie in a gap and were not
// requested, and marks them as requested.
func (l *ledger) without(i int) []int64 {
	var all []int64
	for _, t := range slices.Backward(l.dues) {
		key := runKey{item: i, trigger: strconv.FormatInt(t, 10)}
		if len(all) < 4 && !l.asked[key] && slices.ContainsFunc(l.gaps[i], func(g span) bool { return g.after < t && t < g.until }) {
			l.asked[key] = true
			all = append(all, t)
		}
	}
	slices.Reverse(all)
	return all
}

// backfilled checks that instants begin only as requested: at the owner of their item, the
// oldest first, and removed from the tree by the transaction that begins them.
func (l *ledger) backfilled(old *protocol.View, by origin) {
	if by.member == nil {
		return
	}
	begins := map[int]string{}
	for _, e := range l.newlyOpen(old) {
		if e.Cause == protocol.Backfilled && e.Attempt == 1 {
			begins[e.Item] = e.Trigger
		}
	}
	for _, f := range old.Backfills {
		var left []int64
		if k := slices.IndexFunc(l.v.Backfills, func(o protocol.Backfill) bool { return o.Item == f.Item }); k >= 0 {
			left = l.v.Backfills[k].Instants
		}
		run, begun := begins[f.Item]
		delete(begins, f.Item)
		switch {
		case !begun && slices.Equal(left, f.Instants): // nothing has changed
		case !begun && len(left) == 0 && f.Item >= by.view.Config.Total: // removed together with its item
		case !begun || run != strconv.FormatInt(f.Instants[0], 10) || !slices.Equal(left, f.Instants[1:]):
			l.w.breach("backfill", "%s begins %q of item %d, and leaves %v of %v", by, run, f.Item, left, f.Instants)
		case pausedAt(by.view, by.registryTime()) || shared(by.view) || theyLead(by.view):
			l.w.breach("backfill", "%s begins %s of item %d, seeing that nothing may begin", by, run, f.Item)
		case ownerOf(l.v, f.Item) != by.self:
			l.w.breach("backfill", "%s begins %s of item %d, which belongs to %s", by, run, f.Item, ownerOf(l.v, f.Item))
		case slices.ContainsFunc(append(movable(by.view), recordOf(by.view, by.self).Retries...), func(r protocol.Retry) bool { return r.Item == f.Item }):
			l.w.breach("backfill", "%s begins %s of item %d, whose last run waits to be tried again", by, run, f.Item)
		}
	}
	for i, run := range begins {
		l.w.breach("backfill", "%s begins %s of item %d, and nobody asked for it", by, run, i)
	}
}

// newlyOpen returns the runs that the newest transaction opened.
func (l *ledger) newlyOpen(old *protocol.View) []protocol.Entry {
	var all []protocol.Entry
	for k := range l.v.Runs {
		r := &l.v.Runs[k]
		was := recordOf(old, r.ID)
		for _, e := range r.Open {
			if was == nil || !slices.ContainsFunc(was.Open, e.Same) {
				all = append(all, e)
			}
		}
	}
	return all
}
