package sim

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Most worlds end without ticks, so that what is left over shows. What load
// alone keeps away for ever does not show in them: runs end when nothing new
// comes due. A busy world ticks to its end, a third of its runs are long, and
// what waits must not wait for long.

// busy is a job that is under load to the end.
func busy() profile {
	return profile{
		name: "busy", busy: true, members: [2]int64{2, 5}, items: [2]int64{2, 8}, timeout: [2]int64{1000, 4000}, period: [2]int64{1, 5},
		trouble: [2]int64{15, 30}, every: [2]int64{500, 4000}, restart: 4000,
		slow: []float64{0, 0.05}, slowJobs: []float64{1. / 3}, long: [2]int64{1000, 8000}, late: 0.3,
		untimely: 0.1, monitor: 0.7, holds: 0.1, skew: 1000, deaths: 0.03, spite: 0.08, slots: []int{0, 1, 2},
		plots:  0.1,
		wait:   [2]int64{300, 4000},
		faults: faults{crash: 1, freeze: 0.5, cut: 1, stall: 1, clock: 0.3, operator: 1.5, ask: 1},
	}
}

// seldom is one that has long runs and a long time between two instants. Under
// denser load the next instant ends what waits for a taker.
func seldom() profile {
	p := busy()
	p.name, p.period = "seldom", [2]int64{40, 60}
	p.untimely, p.plots = 0, 0 // else sessions of the dead wait for the next instant
	return p
}

// waits is what has been waiting, and since when.
type waits map[string]int64

// patience is how long something may wait under load: for a server that died and
// for the longest run that is in its way, twice, since an operator may add to it
// meanwhile; and for a reshard.
func (w *World) patience() int64 {
	return 2*(w.timeout+w.profile.long[1]*millisecond+upkeep) + w.options.ReshardWait*millisecond
}

// look judges, again and again, for how long what waits has been waiting. Order
// is when the time of order begins, in ms: a strategy that failed before the calm
// is asked again 30 s later, so reshards and the items that await them are judged
// from then on.
func (l *ledger) look(was waits, order int64) {
	now := waits{}
	most := l.w.patience()
	for _, what := range l.standing(order) {
		now[what] = l.w.now
		if since, ok := was[what]; ok {
			now[what] = since
		}
		if age := l.w.now - now[what]; age > most {
			l.w.breach("age", "%s for %d ms", what, age/millisecond)
		}
	}
	l.w.after(second/2, func() { l.look(now, order) })
}

// standing lists what waits.
func (l *ledger) standing(order int64) []string {
	v := l.v
	var all []string
	if l.w.orderly && (v.Necessary || v.Processing) {
		all = append(all, "a reshard has been awaited")
	}
	if v.Paused {
		return all
	}
	for _, p := range v.Pending {
		if p.Item < len(v.Items) && !v.Items[p.Item].Disabled {
			all = append(all, fmt.Sprintf("run %s of item %d has waited for a taker", runName(p.Entry), p.Item))
		}
	}
	for i := range min(v.Config.Total, len(v.Items)) {
		if !v.Items[i].Disabled && !l.open(i) && l.behind(i, order) {
			// Whoever begins it makes that instant another.
			all = append(all, fmt.Sprintf("nobody has begun item %d, last accounted for at %d,", i, lastOf(v, i)))
		}
		if l.unseen(i) {
			all = append(all, fmt.Sprintf("what item %d missed after %d, before its owner came, has had no row", i, lastOf(v, i)))
		}
	}
	return all
}

// behind tells whether two instants of the item have come due in the time of
// order that are not accounted for. One alone may have passed while the job was
// paused or the item forbidden; nobody begins it then.
func (l *ledger) behind(i int, order int64) bool {
	n := len(l.dues)
	return n > 1 && l.dues[n-2] > max(lastOf(l.v, i), l.dealt[i], order)
}

// open tells whether a run of the item is open.
func (l *ledger) open(i int) bool {
	return slices.ContainsFunc(l.v.Members, func(m protocol.Member) bool { return entryOf(l.v, m.ID, i) != nil })
}
