package sim

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Most worlds stop ticking before they end, so that leftovers show. That hides a wait that
// lasts as long as the load. A busy world ticks to its end, a third of its runs are long,
// and nothing may wait for long.

// busy is a job under load to the end.
func busy() profile {
	return profile{
		name: "busy", busy: true, members: [2]int64{2, 5}, items: [2]int64{2, 8}, timeout: [2]int64{1000, 4000}, period: [2]int64{1, 5},
		trouble: [2]int64{15, 30}, every: [2]int64{500, 4000}, restart: 4000,
		slow: []float64{0, 0.05}, slowJobs: []float64{1. / 3}, long: [2]int64{1000, 8000}, late: 0.3,
		untimely: 0.1, monitor: 0.7, holds: 0.1, skew: 1000, deaths: 0.03, injects: 0.08, slots: []int{0, 1, 2},
		races:  0.1,
		wait:   [2]int64{300, 4000},
		faults: faults{crash: 1, freeze: 0.5, cut: 1, stall: 1, clock: 0.3, operator: 1.5, ask: 1},
	}
}

// seldom has long runs and a long time between two instants. Under denser load the next
// instant would replace a pending run.
func seldom() profile {
	p := busy()
	p.name, p.period = "seldom", [2]int64{40, 60}
	p.untimely, p.races = 0, 0 // these prolong the sessions of dead members up to the next instant
	return p
}

// busyShared is a job under load that is shared with foreign members. The checks of a busy
// job leave out items of foreign members, and the time during which their leader holds
// others up.
func busyShared() profile {
	p := sharedJob()
	p.name, p.busy = "busy beside", true
	p.slowJobs, p.long = busy().slowJobs, busy().long
	return p
}

// waits holds what is waiting, and since when.
type waits map[string]int64

// patience is the longest allowed wait under load. It includes the time-out of a dead
// server and the longest run twice, since an operator may prolong a wait, and the wait for
// a reshard once.
func (w *World) patience() int64 {
	return 2*(w.timeout+w.profile.long[1]*millisecond+upkeep) + w.options.ReshardWait*millisecond
}

// look checks repeatedly how long things have been waiting. order is when the time of order
// begins, in ms. Reshards, and items that wait for them, are checked only from then on,
// because a strategy that failed before the calm is asked again up to 30 s later.
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

// standing lists what is waiting now. look recognizes a wait by its text.
func (l *ledger) standing(order int64) []string {
	v := l.v
	var all []string
	if theyLead(v) && (v.Necessary || v.Processing) {
		return nil // ElasticJob's leader waits until nothing runs anywhere, which may be never
	}
	if l.w.orderly && (v.Necessary || v.Processing) {
		all = append(all, "a reshard has been awaited")
	}
	if l.paused() {
		return all
	}
	for _, p := range v.Pending {
		if p.Item < len(v.Items) && !v.Items[p.Item].Disabled {
			all = append(all, fmt.Sprintf("run %s of item %d has waited for a taker", runName(p.Entry), p.Item))
		}
	}
	for i := range min(v.Config.Total, len(v.Items)) {
		if l.foreignIDs[ownerOf(v, i)] || l.foreignIDs[v.Items[i].Owner] {
			continue
		}
		if !v.Items[i].Disabled && !l.open(i) && l.behind(i, order) {
			// The text contains the instant, so a begin restarts the wait.
			all = append(all, fmt.Sprintf("nobody has begun item %d, last accounted for at %d,", i, lastOf(v, i)))
		}
		if l.unseen(i) {
			all = append(all, fmt.Sprintf("what item %d missed after %d, before its owner came, has had no row", i, lastOf(v, i)))
		}
	}
	return all
}

// behind reports whether two instants of the item after order are not accounted for. A
// single one may be, if the job was paused or the item disabled when it came. After a
// change of the schedule, instants count only once every clock has passed the change.
func (l *ledger) behind(i int, order int64) bool {
	if n := len(l.crons); n > 0 {
		order = max(order, l.crons[n-1]+l.w.profile.skew)
	}
	n := len(l.dues)
	for n > 0 && cameInPause(l.v, l.dues[n-1]) {
		n--
	}
	return n > 1 && l.dues[n-2] > max(lastOf(l.v, i), l.assigned[i], order)
}

// open reports whether a run of the item is open.
func (l *ledger) open(i int) bool {
	return slices.ContainsFunc(l.v.Members, func(m protocol.Member) bool { return entryOf(l.v, m.ID, i) != nil })
}
