package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Invariants of jobs that are shared with foreign members. Foreign members are checked
// only where the result depends on our members.

// foreignMembers is what the ledger knows of foreign members.
type foreignMembers struct {
	foreignIDs      map[protocol.ID]bool  // every id that a foreign member ever had
	sessions        map[int64]bool        // sessions of foreign members
	runs            map[int]foreignRun    // the newest run of each item
	owned           map[int]int64         // when a foreign member last owned each item
	spans           map[int][]span        // instants that count as run by foreign members, the upper one included
	ownersGone      map[int]ownerGone     // owners of the items whose owner's node was removed, and when
	away            map[protocol.ID]int64 // of members that are away: when their instances went
	back            map[protocol.ID]int64 // of members that are back: when their instances had gone
	turnover        []int64               // times at which instances of any kind came or went
	left            map[leftRun]int64     // when pending runs that they wrote were first seen
	took            map[runKey]bool       // runs of ours that they took
	began           map[int64]map[int]int // by instant and item: number of begins, on any member
	checkedInstants int                   // number of instants that exact has checked

	unnoticed map[protocol.ID]int64 // the newest request that each has missed, by the revision that wrote it
}

type foreignRun struct{ instant, at int64 }

// leftRun is a pending run that a foreign member wrote, by its revision.
type leftRun struct {
	item     int
	modified int64
}

type ownerGone struct {
	owner protocol.ID
	at    int64
}

func newForeignMembers() foreignMembers {
	return foreignMembers{
		foreignIDs: map[protocol.ID]bool{visitor: true}, sessions: map[int64]bool{foreignSession: true}, runs: map[int]foreignRun{},
		owned: map[int]int64{}, spans: map[int][]span{}, ownersGone: map[int]ownerGone{}, away: map[protocol.ID]int64{}, back: map[protocol.ID]int64{}, left: map[leftRun]int64{}, took: map[runKey]bool{},
		began: map[int64]map[int]int{}, unnoticed: map[protocol.ID]int64{},
	}
}

// theyBegin records that a foreign member begins items for the instant at; 0: for another
// reason.
func (l *ledger) theyBegin(items []int, at int64) {
	if at == 0 {
		l.unrest = l.w.now
		return
	}
	for _, i := range items {
		l.begins(i, at)
	}
}

// theyRan records that a foreign member has run items, and had marked them, for the instant
// at; 0: for another reason. An item that a member of ours has by then does not count:
// members of ours have marked it as well, so a short mark of a foreign one is no evidence.
func (l *ledger) theyRan(items []int, at int64) {
	for _, i := range items {
		if at != 0 && l.foreignIDs[ownerOf(l.v, i)] {
			l.runs[i] = foreignRun{at, l.w.now}
		}
	}
}

// begins counts a begin of item i for the instant, by any member.
func (l *ledger) begins(i int, at int64) {
	if l.began[at] == nil {
		l.began[at] = map[int]int{}
	}
	l.began[at][i]++
}

// shared reports whether the view shows a foreign member.
func shared(v *protocol.View) bool {
	return slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool { return !alive(v, in.ID) })
}

// onlyForeignKnow reports whether only members of ElasticJob have the strategy; then no
// member of ours leads.
func (l *ledger) onlyForeignKnow(v *protocol.View) bool {
	k := l.w.options.Knows
	return k != nil && shared(v) && !k(v.Config.Strategy)
}

// neighbours checks a transaction for what foreign members need.
func (l *ledger) neighbours(old *protocol.View, by origin) {
	for i := range l.v.Items {
		var was protocol.Item
		if i < len(old.Items) {
			was = old.Items[i]
		}
		if now := l.v.Items[i]; now.Owner != was.Owner {
			l.moves(i, was, now, by)
		}
	}
	if by.member == nil {
		return
	}
	switch m := by.m.(type) {
	case protocol.Owners:
		l.ledByOurs(old, by)
	case protocol.Begin:
		l.agreesWithNodes(m.Begun, old, by)
	case protocol.Take:
		if shared(by.view) {
			l.foremost(old.FailoverLatch, by)
		}
	case protocol.Elect:
		l.foremost(old.ElectionLatch, by)
	case protocol.Reshard:
		l.ledByOurs(old, by)
		if l.onlyForeignKnow(by.view) {
			l.w.breach("the strategy's word", "%s, though only members of ElasticJob have the strategy", by)
		}
		l.known(old, by)
		for i, it := range by.view.Items {
			runs := func(in protocol.Instance) bool { return l.foreignIDs[in.ID] && in.Owner == it.Running }
			if o := ownerOf(l.v, i); o != it.Owner && by.view.Config.MonitorExecution && slices.ContainsFunc(by.view.Instances, runs) {
				l.w.breach("nothing running moves", "%s moves item %d, which %s runs, to %s", by, i, it.Owner, o)
			}
		}
	case protocol.Adopt:
		l.adopts(m, old, by)
		l.known(old, by)
		l.awaited(old)
	case protocol.ReclaimForeign:
		l.lostForeign(m, by)
	default:
	}
}

// ledByOurs checks that no member of ours assigns items while a foreign one leads.
func (l *ledger) ledByOurs(old *protocol.View, by origin) {
	if theyLead(old) {
		l.w.breach("a leader's word", "%s, while %s leads", by, old.Leader)
	}
}

// noted records instances that came and went.
func (l *ledger) noted(old *protocol.View, by origin) {
	same := func(a, b protocol.Instance) bool { return a.ID == b.ID && a.Owner == b.Owner }
	if !slices.EqualFunc(old.Instances, l.v.Instances, same) {
		l.turnover = append(l.turnover, l.w.now)
	}
	for _, in := range old.Instances {
		if registered(l.v, in.ID) == nil && l.foreignIDs[in.ID] {
			l.away[in.ID] = l.w.now
		}
	}
	for _, in := range l.v.Instances {
		if since, gone := l.away[in.ID]; gone {
			l.back[in.ID] = since
			delete(l.away, in.ID)
		}
	}
	for _, p := range l.v.Pending {
		if _, ok := l.left[leftRun{p.Item, p.Modified}]; p.Foreign && !ok {
			l.left[leftRun{p.Item, p.Modified}] = l.w.now
		}
	}
	taken := func(it protocol.Item) bool { return it.Failover != "" }
	if len(l.v.Pending) > 0 || slices.ContainsFunc(old.Items, taken) || slices.ContainsFunc(l.v.Items, taken) {
		l.unrest = l.w.now
	}
	for i := range max(len(old.Items), len(old.Assignment.Owners)) {
		if l.foreignIDs[ownerOf(old, i)] || i < len(old.Items) && l.foreignIDs[old.Items[i].Owner] {
			l.owned[i] = l.w.now
		}
	}
	if by.java != nil {
		for _, p := range old.Pending {
			stays := func(q protocol.Pending) bool { return q.Item == p.Item && !q.Foreign }
			if !p.Foreign && !slices.ContainsFunc(l.v.Pending, stays) { // a node that they emptied counts as taken
				l.took[keyOf(p.Entry)] = true
			}
		}
	}
	if _, ok := by.m.(protocol.Begin); !ok && by.member != nil && !l.w.follows() { // a job that runs after others has no schedule, so no gaps
		l.theirs(old, by)
	}
}

// theirs checks that instants that are accounted for without a run of ours belong to items
// that foreign members had then.
func (l *ledger) theirs(old *protocol.View, by origin) {
	for i := range max(len(l.v.Assignment.Owners), len(l.v.Assignment.Last)) {
		from := lastOf(old, i)
		to := l.cameBack(i, span{from, lastOf(l.v, i)}, old, by)
		if from == 0 || to == from {
			continue
		}
		_, assigned := by.m.(protocol.Reshard)
		_, adopted := by.m.(protocol.Adopt)
		if until := l.owned[i] / millisecond; (assigned || adopted) && to > until+evident/millisecond+l.w.mostOff() {
			l.w.breach("whose instants", "%s accounts for item %d up to %d, which was theirs until %d", by, i, sinceStart(to), sinceStart(until))
		}
		l.spans[i] = append(l.spans[i], span{from, to})
	}
}

// cameBack returns the instant up to which the item is accounted for as run by foreign
// members. If the assignment before did not have the item, rows account for the instants
// since.
func (l *ledger) cameBack(i int, accounted span, old *protocol.View, by origin) int64 {
	to := accounted.until
	if i < old.Assignment.Total || to > l.w.now/millisecond+l.w.profile.skew {
		return to
	}
	var rows []protocol.Row
	switch m := by.m.(type) {
	case protocol.Reshard:
		rows = m.Own.Rows
	case protocol.Adopt:
		rows = m.Own.Rows
	default:
		return to
	}
	for _, r := range slices.Backward(rows) {
		if r.Gap && r.Item == i && r.State == protocol.Skipped && r.Until == to+1 && r.After >= accounted.after { // one row per schedule
			to = r.After
		}
	}
	return to
}

// moves checks that beside foreign members an owner's node that changes is first removed
// and created again after a while, because they read it from a cache. The leader measures
// that while on its own clock, so setting that clock ahead ends it.
func (l *ledger) moves(i int, was, now protocol.Item, by origin) {
	if now.Owner == "" {
		l.ownersGone[i] = ownerGone{was.Owner, l.w.now}
		return
	}
	s := l.ownersGone[i]
	delete(l.ownersGone, i)
	if by.member == nil || !shared(by.view) {
		return
	}
	if was.Owner != "" {
		l.w.breach("two steps", "%s: item %d goes from %s to %s at once", by, i, was.Owner, now.Owner)
	}
	if d := l.w.now - s.at; s.owner != "" && s.owner != now.Owner && d < 19*millisecond && by.member.set < s.at {
		l.w.breach("two steps", "%s: item %d goes from %s to %s within %d µs", by, i, s.owner, now.Owner, d)
	}
}

// agreesWithNodes checks that an item begins here only if ElasticJob's nodes also assign it
// here, and no foreign member runs it. While monitorExecution is off, a begin creates no
// mark, so no fence refuses a mark that has come since its view.
func (l *ledger) agreesWithNodes(items []int, old *protocol.View, by origin) {
	seen := old
	if c := by.view.Config; c != nil && !c.MonitorExecution {
		seen = by.view
	}
	for _, i := range items {
		if i < len(seen.Items) && l.sessions[seen.Items[i].Running] {
			l.w.breach("another's mark", "%s: item %d is run by a member of ElasticJob", by, i)
		}
		if theyLead(by.view) && (i >= len(old.Items) || old.Items[i].Owner != by.self) || shared(by.view) && l.reassigned(i, old, by) {
			l.w.breach("a leader's word", "%s: item %d belongs to %q by its node", by, i, old.Items[i].Owner)
		}
	}
}

// reassigned reports whether the owner's node has changed since the view. A node that was
// deleted and created again has the same version. The seal tells the two apart. So does the
// node of item 0, once that has been set: a foreign member that assigns items deletes it
// first, and never sets it. Neither exists until our leader has assigned items beside
// foreign members. Then only a new leader is noticed, and only if there was one before; a
// former leader that has waited and assigns now leaves no trace.
func (l *ledger) reassigned(i int, old *protocol.View, by origin) bool {
	if i >= len(old.Items) || i >= len(by.view.Items) {
		return true
	}
	now, was := old.Items[i], by.view.Items[i]
	_, begun := by.m.(protocol.Begin)
	if by.view.Sealed || begun && (by.view.Items[0].OwnerVer > 0 || theyLead(old) && by.view.Leader != "" && !theyLead(by.view)) {
		return now.Owner != was.Owner
	}
	return now.Owner == "" || now.Owner != was.Owner && now.OwnerVer != was.OwnerVer
}

// foremost checks that a member is first in the queue when it does what only that one may
// do.
func (l *ledger) foremost(queue []protocol.Contender, by origin) {
	k := slices.IndexFunc(by.view.Members, func(m protocol.Member) bool { return m.ID == by.self })
	if len(queue) == 0 || queue[0].Token != spelling.Contender(by.view.Members[k].Owner) {
		l.w.breach("the latch", "%s, and the queue is %v", by, queue)
	}
}

// adopts checks that an adoption takes the assignment of a foreign leader as it is, while
// no item that moves has an open run. With more items than a transaction can check, nodes
// of other items may have changed. Such an item does not begin, and is adopted or assigned
// again.
func (l *ledger) adopts(m protocol.Adopt, old *protocol.View, by origin) {
	for _, i := range m.Items {
		if l.reassigned(i, old, by) {
			l.w.breach("mirror of owners", "%s: item %d belongs to %s, its node says something else", by, i, ownerOf(l.v, i))
		}
	}
	for k := range old.Runs {
		r := &old.Runs[k]
		for _, e := range r.Open {
			if ownerOf(old, e.Item) != ownerOf(l.v, e.Item) {
				l.w.breach("nothing running moves", "%s moves item %d, which %s runs", by, e.Item, r.ID)
			}
		}
	}
}

// awaited checks that a member begins the instant that has come if a foreign leader, which
// assigns items when an instant comes, gives it an item. A server that an operator let in
// after the instant had come leaves it out.
func (l *ledger) awaited(old *protocol.View) {
	if !l.w.orderly {
		return
	}
	asked := l.w.now
	for i, o := range l.v.Assignment.Owners {
		m := l.w.member(o)
		// A member counts if it has just got the item, has an instant to begin, and saw
		// the mark before that instant, but not so long ago that it may begin without
		// waiting.
		if m == nil || ownerOf(old, i) == o || !m.fresh || m.ticked <= lastOf(l.v, i) || pausedAt(l.v, m.ticked) || m.marked == 0 || m.marked >= m.ticked || m.now() > m.marked+l.w.options.ReshardWait-prompt/millisecond {
			continue
		}
		if word := m.now() - (l.w.now-l.wordAt)/millisecond; word >= m.ticked {
			continue // an operator changed something after the instant
		}
		at, life := m.ticked, m.life
		l.w.after(prompt, func() {
			if l.unrest <= asked && l.wordAt < asked && m.up && m.life == life && l.idle(o, i) && lastOf(l.v, i) < at {
				l.w.breach("prompt", "%s got item %d when %d had come, and did not begin it", m.name(), i, sinceStart(at))
			}
		})
	}
}

// departed reports whether the run has ended for which an item stayed with its owner.
func departed(v *protocol.View) bool {
	return slices.ContainsFunc(v.Assignment.Departing, func(i int) bool {
		return !slices.ContainsFunc(v.Runs, func(r protocol.Runs) bool {
			return slices.ContainsFunc(r.Open, func(e protocol.Entry) bool { return e.Item == i })
		})
	})
}

// theyLead reports whether a foreign member leads.
func theyLead(v *protocol.View) bool { return v.Leader != "" && !alive(v, v.Leader) }

// unadopted reports whether a foreign leader has assigned otherwise than the assignment
// says, or no member of ours has looked since it may have. An item with an open run of ours
// stays with its member, and is adopted after the run, so it does not count. While an item
// has no owner yet, as after a change of the total, there is nothing to adopt. While the
// assignment cannot be read, no member can adopt, so that time is not part of a wait. A
// reshard mark that comes after an instant is answered at the next one, however long the
// foreign leader has led. So a begin of that instant need not wait for it.
func unadopted(v *protocol.View) bool {
	if !theyLead(v) || v.Config == nil || !v.Assignment.Exists {
		return false
	}
	differs := !v.Sealed || v.Assignment.Total != v.Config.Total
	for i := range v.Config.Total {
		if i >= len(v.Items) || v.Items[i].Owner == "" {
			return false
		}
		differs = differs || v.Items[i].Owner != ownerOf(v, i) && !open(v, i)
	}
	return differs
}

// open reports whether a member of ours has an open run of the item.
func open(v *protocol.View, i int) bool {
	return slices.ContainsFunc(v.Runs, func(r protocol.Runs) bool { return entryOf(v, r.ID, i) != nil })
}
