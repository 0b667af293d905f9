package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// settled checks the end: nothing has disturbed the cluster for a long time, and no
// instant has come due for a while.
func (l *ledger) settled() {
	v := l.v
	if v == nil || v.Config == nil {
		l.w.breach("calm", "there is no job")
		return
	}
	if len(l.w.members) == 0 {
		l.alone()
		return
	}
	if l.classMissing() { // members of ours stay out, and assign nothing
		return
	}
	for _, m := range l.w.up() {
		if registered(l.v, m.st.Self()) == nil {
			l.w.breach("calm", "%s is up and not registered", m.name())
		}
		if len(m.asked) > 0 {
			l.w.breach("answers", "%s has %d requests without an answer", m.name(), len(m.asked))
		}
	}
	l.membership()
	l.ownership()
	l.leftovers()
	l.answered()
	l.fired()
	l.queues()
	l.allFollowed()
	for i := range min(v.Config.Total, len(v.Items)) {
		l.coverage(i)
		if l.unseen(i) {
			l.w.breach("missed at the start", "item %d is accounted for up to %d, and an instant after it had come before its owner did", i, sinceStart(lastOf(v, i)))
		}
	}
	for _, p := range l.unknown {
		if n := l.w.tree.Get(p); !n.Exists || n.Stat.Version != 0 || string(n.Data) != "theirs" {
			l.w.breach("unknown nodes", "%s was touched", p)
		}
	}
}

// membership checks at the end that those who are registered live, that the leader may
// lead, and that nothing waits to be assigned.
func (l *ledger) membership() {
	v := l.v
	if len(v.Instances) == 0 {
		l.w.breach("calm", "no member is registered")
	}
	for _, in := range v.Instances {
		if !alive(v, in.ID) && !l.w.well(in.ID) {
			l.w.breach("calm", "%s is registered but not alive", in.ID)
		}
		if alive(v, in.ID) && !slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.IP == in.ID.IP() }) {
			l.w.breach("calm", "the server of %s is not there", in.ID)
		}
		// A foreign member misses a request if it has just registered again and its copy of
		// the tree lacks the node.
		if in.Request != 0 && in.Request != l.unnoticed[in.ID] {
			l.w.breach("calm", "the trigger of %s was not accepted", in.ID)
		}
	}
	if v.Leader == "" || !alive(v, v.Leader) && !l.w.well(v.Leader) || banned(v, v.Leader) {
		l.w.breach("calm", "the leader is %q", v.Leader)
	}
	if n := len(v.Assignment.Departing); n > 0 {
		l.w.breach("calm", "%d items are about to move", n)
	}
	if v.Necessary || v.Processing {
		l.w.breach("calm", "a reshard mark is left, necessary %v processing %v", v.Necessary, v.Processing)
	}
	for _, s := range v.Servers {
		if len(l.w.jvms) > 0 {
			break // foreign leaders do not remove servers
		}
		if !slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return in.ID.IP() == s.IP }) && !s.Disabled {
			l.w.breach("calm", "the server %s, long gone, was not removed", s.IP)
		}
	}
}

// ownership checks at the end that every item has an owner that may run it, in the
// assignment and in ElasticJob's node alike.
func (l *ledger) ownership() {
	v := l.v
	if v.Assignment.Total != v.Config.Total || len(v.Items) < v.Config.Total {
		l.w.breach("calm", "total %d, assigned %d, items %d", v.Config.Total, v.Assignment.Total, len(v.Items))
		return
	}
	for i, it := range v.Items[v.Config.Total:] {
		if theyLead(v) {
			break // foreign members only count items, so an item beyond a hole stays
		}
		if i += v.Config.Total; it.Exists && (it != protocol.Item{Exists: true, Marks: it.Marks} || !slices.Contains(l.w.squatted, i)) {
			l.w.breach("calm", "item %d, beyond the total, is left: %+v", i, it)
		}
	}
	for _, in := range v.Instances {
		if v.Config.Total >= len(v.Instances) && !banned(v, in.ID) && !slices.Contains(v.Assignment.Owners, in.ID) {
			l.w.breach("calm", "%s has no item of %d", in.ID, v.Config.Total)
		}
	}
	for i, it := range v.Items[:v.Config.Total] {
		if it.Owner != v.Assignment.Owners[i] {
			l.w.breach("calm", "item %d is owned by %s but its mirror says %s", i, v.Assignment.Owners[i], it.Owner)
		}
		if registered(v, it.Owner) == nil || banned(v, it.Owner) {
			l.w.breach("calm", "item %d belongs to %s, which is not there or disabled", i, it.Owner)
		}
	}
}

// leftovers checks at the end that no run, mark, record or row is left that should be
// gone or stored.
func (l *ledger) leftovers() {
	v := l.v
	for _, p := range v.Pending {
		l.w.breach("calm", "item %d still waits for a taker", p.Item)
	}
	for _, f := range v.Backfills {
		l.w.breach("calm", "instants of item %d still wait: %v", f.Item, f.Instants)
	}
	for i, it := range v.Items {
		if it.Marked() || it.Failover != "" || it.Misfire && len(l.w.jvms) == 0 {
			l.w.breach("calm", "item %d has marks left: %+v", i, it)
		}
	}
	if v.Next != "" && len(v.Members) > 0 {
		l.w.breach("calm", "the module %s still waits for members to have it", v.Next)
	}
	for k := range v.Runs {
		r := &v.Runs[k]
		if !alive(v, r.ID) {
			l.w.breach("calm", "the record of %s, which is dead, is left", r.ID)
		}
		unstored := slices.ContainsFunc(r.Rows, func(row protocol.Row) bool { return !l.history[rowKeyOf(row)] })
		if n := l.w.options.MaxUnstored; len(r.Rows) > 2*n {
			l.w.breach("calm", "%s has %d rows that are stored", r.ID, len(r.Rows))
		}
		if len(r.Open)+len(r.Retries)+len(r.Triggers) > 0 || unstored {
			l.w.breach("calm", "%s still has open %s rows %s triggers %v", r.ID, entries(r.Open), rows(r.Rows), r.Triggers)
		}
	}
	for key, row := range l.final {
		if !l.history[rowKeyOf(row)] {
			l.w.breach("rows are stored", "the final row of item %d was not stored: %v", key.item, row)
		}
	}
}

// due records an instant that came due on a member's clock, unless some member still
// follows a replaced cron.
func (l *ledger) due(m *member, at int64) {
	// Members leave out what a clock far ahead shows.
	if l.v.Config == nil || l.w.clocks.shown && at > l.w.registryTime()+tolerated {
		return
	}
	for _, o := range l.w.members {
		if o.up && o.st != nil && o.period != 0 && o.period != period(l.v.Config.Cron) {
			return
		}
	}
	if k, ok := slices.BinarySearch(l.dues, at); !ok {
		l.dues = slices.Insert(l.dues, k, at)
	}
	for k := range l.v.Runs {
		for _, e := range l.v.Runs[k].Open {
			if e.Trigger != "" {
				l.occupied[runKey{item: e.Item, instant: at}] = true
			}
		}
	}
	if l.w.orderly {
		l.expect(m, at)
	}
}

// ambiguous reports whether t is near a change of the cron, when members whose clocks
// differ see different instants come due.
func (l *ledger) ambiguous(t int64) bool {
	return slices.ContainsFunc(l.crons, func(c int64) bool { return c-7000 <= t && t <= c+7000 })
}

// coverage checks every instant of the item since it was first accounted for: it has a
// run or lies in a gap, never in both, and never in two gaps.
func (l *ledger) coverage(i int) {
	end := lastOf(l.v, i)
	gaps := slices.Clone(l.gaps[i])
	slices.SortFunc(gaps, func(a, b span) int { return int(min(max(a.after-b.after, -1), 1)) })
	for k := 1; k < len(gaps); k++ {
		if gaps[k].after+1 < gaps[k-1].until {
			l.w.breach("coverage", "gaps of item %d overlap: (%d,%d) and (%d,%d)", i, gaps[k-1].after, gaps[k-1].until, gaps[k].after, gaps[k].until)
		}
	}
	inGap := func(t int64) bool {
		return slices.ContainsFunc(gaps, func(g span) bool { return g.after < t && t < g.until })
	}
	ran := slices.Clone(l.ran[i])
	slices.Sort(ran)
	for _, t := range ran {
		if inGap(t) && !l.w.clocks.resumed[runKey{item: i, instant: t}] {
			l.w.breach("coverage", "instant %d of item %d ran and lies in a gap", t, i)
		}
	}
	for _, t := range l.dues {
		if t <= l.first[i] || t > end || l.ambiguous(t) || l.took[runKey{item: i, instant: t}] || slices.ContainsFunc(l.spans[i], func(s span) bool { return s.after < t && t <= s.until }) {
			continue
		}
		if _, ok := slices.BinarySearch(ran, t); !ok && !inGap(t) {
			l.w.breach("coverage", "instant %d of item %d was neither run nor accounted for", sinceStart(t), i)
			return
		}
	}
	if l.foreignIDs[ownerOf(l.v, i)] || len(l.dues) == 0 {
		return
	}
	newest := l.dues[len(l.dues)-1]
	for _, t := range l.dues {
		// The next begin accounts for an instant that came during a pause or a trigger's run.
		if t <= max(end, l.assigned[i]) || l.cameInAPause(t) || l.occupied[runKey{item: i, instant: t}] {
			continue
		}
		if newest-t > 20_000+period(l.v.Config.Cron) {
			l.w.breach("calm", "item %d was last accounted for at %d; %d came since, %d ms before the newest instant", i, end, t, newest-t)
		}
		return
	}
}
