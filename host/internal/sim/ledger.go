package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// ledger receives every transaction, every start of a guest and every stored row, and
// checks them. It decodes the true tree, which no member ever sees as a whole.
type ledger struct {
	w   *World
	dec layout.Decoder
	v   *protocol.View // the true tree

	begun    map[int]begun           // the newest begin of each item
	final    map[runKey]protocol.Row // the final row of each run
	owed     map[runKey]protocol.ID  // by requested run of an item: the member that was asked
	retries  map[runKey]int          // attempts of a run that ended and were not the last
	seen     map[rowKey]bool         // rows that have been in a record
	history  map[rowKey]bool         // rows that are stored
	gaps     map[int][]span
	ran      map[int][]int64     // instants with a final row of a run, by item
	first    map[int]int64       // by item: the instant from which it is accounted for
	assigned map[int]int64       // when a reshard gave an unassigned item an owner, in ms
	dues     []int64             // instants that came due anywhere, ascending
	occupied map[runKey]bool     // instants that came due while a trigger's run of the item was open
	crons    []int64             // when the cron changed
	forced   []protocol.Schedule // schedules that were in force
	pauses   []span              // pauses of the job, in ms; the newest may go on
	since    []int64             // by number of the item: when it began to exist
	token    map[int]int64       // newest token that the sink saw, by item
	guests   map[int][]*running
	unknown  []string

	fires   map[fireKey]lastCall                  // calls of listeners
	counted map[int64]map[int]bool                // by instant that was reported as started: the items that had begun it
	before  map[protocol.Version]protocol.Version // by version of a part of the definition: the version that it replaced
	derived map[string]protocol.Version           // by text of a requested configuration: the version that it was made from
	opened  map[attempt]bool                      // attempts that began
	ended   map[attempt]protocol.RowState         // how guests ended
	drained map[runKey]int                        // attempts that ended because their member left

	wordAt int64 // when an operator's setting or the configuration changed
	killed int64 // when a member was killed in the time of order
	unrest int64 // when something prevented a prompt begin

	unattended []attendance                      // ends of times without members
	found      map[protocol.ID][]protocol.Member // by member that joined: the members that it saw
	claimed    int64                             // the newest end of such a time in a record

	unmarked int64 // when the newest reshard mark was removed

	refusedWrites int64
	ending        func(protocol.Row) // called for a final row; nil: no job follows
	foreignMembers
	backfilling
	asking
	theirRounds
}

type begun struct {
	id    protocol.ID
	entry protocol.Entry
	rev   int64
}

// runKey identifies a run as its id does. A triggered run is identified by its request
// alone, regardless of when that was accepted.
type runKey struct {
	item    int
	instant int64 // 0 for a request
	trigger string
}

type rowKey struct {
	runKey
	attempt      int
	after, until int64
	state        protocol.RowState
}

type attempt struct {
	runKey
	n int
}

type span struct{ after, until int64 }

// keyOf returns what identifies the run of an entry.
func keyOf(e protocol.Entry) runKey {
	if e.Trigger != "" {
		return runKey{item: e.Item, trigger: e.Trigger}
	}
	return runKey{item: e.Item, instant: e.Instant}
}

// rowKeyOf returns what identifies a row.
func rowKeyOf(r protocol.Row) rowKey {
	return rowKey{keyOf(r.Entry), r.Attempt, r.After, r.Until, r.State}
}

func newLedger(w *World) *ledger {
	return &ledger{
		w: w, dec: w.job.NewDecoder(w.records), begun: map[int]begun{}, final: map[runKey]protocol.Row{}, owed: map[runKey]protocol.ID{}, retries: map[runKey]int{},
		seen: map[rowKey]bool{}, history: map[rowKey]bool{}, gaps: map[int][]span{}, ran: map[int][]int64{}, first: map[int]int64{}, assigned: map[int]int64{},
		token: map[int]int64{}, guests: map[int][]*running{}, before: map[protocol.Version]protocol.Version{}, derived: map[string]protocol.Version{}, fires: map[fireKey]lastCall{}, counted: map[int64]map[int]bool{}, occupied: map[runKey]bool{}, ended: map[attempt]protocol.RowState{}, opened: map[attempt]bool{}, drained: map[runKey]int{},
		foreignMembers: newForeignMembers(), backfilling: backfilling{map[runKey]bool{}}, asking: asking{askedRuns: map[runKey]protocol.Entry{}}, found: map[protocol.ID][]protocol.Member{},
		theirRounds: newTheirRounds(),
	}
}

// check applies one transaction to the true tree's view and checks it.
func (l *ledger) check(changes []tree.Change, by origin) {
	if by.what == damaging {
		return
	}
	for _, c := range changes {
		l.dec.Apply(c.Path, c.Node)
	}
	old := l.v
	l.v = l.dec.View()
	l.force()
	if old == nil {
		return
	}
	l.replaced(old)
	if l.v.ConfigFault != "" {
		l.w.breach("values", "%s wrote what cannot be read: %s", by, l.v.ConfigFault)
		return
	}
	if old.Config != nil && l.v.Config != nil && old.Config.Cron != l.v.Config.Cron {
		l.crons = append(l.crons, l.w.now/millisecond)
	}
	l.changes(old)
	l.attended(old, by)
	l.existed(old, by)
	for i, t := range old.Assignment.Last {
		if last(l.v.Assignment.Last, i) < t {
			l.w.breach("last instants", "%s moved the last instant of item %d back", by, i)
		}
	}
	for i, t := range l.v.Assignment.Last {
		if t != 0 && l.first[i] == 0 {
			l.first[i] = t
		}
	}
	for k, m := range l.v.Members {
		if slices.ContainsFunc(l.v.Members[:k], func(o protocol.Member) bool { return o.Owner == m.Owner }) {
			l.w.breach("one member a session", "%s: session %d has joined as %s, too", by, m.Owner, m.ID)
		}
	}
	l.dated(old, by)
	l.noted(old, by)
	l.records(old, by)
	l.backfilled(old, by)
	l.asks(old, by)
	l.nothingLost(old, by)
	l.untouched(old, by)
	l.decided(old, by)
	if old.Necessary && !l.v.Necessary {
		l.unmarked = l.w.now
	}
	l.neighbours(old, by)
	l.marks(by)
	l.inRounds(old, by)
	l.waiting(old, by)
	l.admitted(by)
	l.drive(old)
}

// records follows the changes of members' records.
func (l *ledger) records(old *protocol.View, by origin) {
	for k := range l.v.Runs {
		r := &l.v.Runs[k]
		was := recordOf(old, r.ID)
		if was != nil && was.Version == r.Version && was.Modified == r.Modified {
			continue
		}
		var seq int64
		if was != nil {
			seq = was.Seq
		}
		if r.Seq < seq || !slices.IsSortedFunc(r.Rows, func(a, b protocol.Row) int { return int(a.Seq - b.Seq) }) {
			l.w.breach("rows in order", "%s: the rows of %s are %s", by, r.ID, rows(r.Rows))
		}
		for _, row := range r.Rows {
			if row.Seq > seq {
				l.newRow(row, old, by)
			}
		}
		l.tried(r, was, old, by)
		for _, e := range r.Open {
			if was == nil || !slices.ContainsFunc(was.Open, e.Same) {
				l.newEntry(r.ID, e, old, by)
			}
		}
	}
}

// newRow checks a row that a transaction has put into a record for the first time, by
// its kind: a gap, an attempt that is followed by another, or the final row of a run.
func (l *ledger) newRow(r protocol.Row, old *protocol.View, by origin) {
	key := rowKeyOf(r)
	if l.seen[key] {
		return // moved from the record of a dead member
	}
	l.seen[key] = true
	l.given(r.Entry, by.String())
	switch {
	case r.Gap:
		l.counts(r, by)
		l.leftOut(r, by)
		l.blames(r, by)
		l.gaps[r.Item] = append(l.gaps[r.Item], span{r.After, r.Until})
	case r.State == protocol.TakenOver || r.State == protocol.Retried:
		l.retries[keyOf(r.Entry)]++
	default:
		if f, ok := l.final[keyOf(r.Entry)]; ok {
			l.w.breach("one final row", "%s: item %d run %s has %s#%d and now %s#%d", by, r.Item, runName(r.Entry), f.State, f.Attempt, r.State, r.Attempt)
		}
		l.final[keyOf(r.Entry)] = r
		l.gaveUp(r, old, by)
		if m, ok := by.m.(protocol.Complete); ok && slices.Contains(m.Items, r.Item) {
			l.closes(r, by)
		}
		l.ends(r, by)
		if r.Trigger == "" {
			l.ran[r.Item] = append(l.ran[r.Item], r.Instant)
		}
	}
}

// closes checks that the row of a completed run has the result of its guest, and that a
// run without a guest was cancelled by the end of its server.
func (l *ledger) closes(r protocol.Row, by origin) {
	state, ran := l.ended[attempt{keyOf(r.Entry), r.Attempt}]
	if ran && state != r.State || !ran && !by.ending {
		l.w.breach("the guest's word", "%s: item %d run %s#%d is %s, its guest ended %q", by, r.Item, runName(r.Entry), r.Attempt, r.State, state)
	}
}

// passed checks that the instants of item i between from, the last one accounted for,
// and to, which begins, lie in a gap.
func (l *ledger) passed(i int, from, to int64, by origin) {
	for k := len(l.dues) - 1; k >= 0 && l.dues[k] > from; k-- {
		t := l.dues[k]
		if t < to && t > l.first[i] && !l.ambiguous(t) && !slices.ContainsFunc(l.gaps[i], func(g span) bool { return g.after < t && t < g.until }) {
			l.w.breach("coverage", "%s passes over instant %d of item %d without a row", by, sinceStart(t), i)
		}
	}
}

// newEntry checks an open run that a transaction has put into a record.
func (l *ledger) newEntry(id protocol.ID, e protocol.Entry, old *protocol.View, by origin) {
	if f, ok := l.final[keyOf(e)]; ok {
		l.w.breach("no run after its row", "%s: item %d run %s begins again after its row %s#%d", by, e.Item, runName(e), f.State, f.Attempt)
	}
	if n := l.retries[keyOf(e)]; e.Attempt != n+1 {
		l.w.breach("attempts", "%s: item %d run %s attempt %d after %d ended attempts", by, e.Item, runName(e), e.Attempt, n)
	}
	l.timely(e, by)
	l.caughtUp(e, by)
	l.followed(e, old, by)
	if e.Trigger == "" && e.Attempt == 1 && e.Instant <= lastOf(old, e.Item) && !l.resumes(e, old) {
		l.w.breach("last instants", "%s: item %d begins instant %s, but %d was accounted for", by, e.Item, runName(e), lastOf(old, e.Item))
	}
	for k := range l.v.Runs {
		r := &l.v.Runs[k]
		if r.ID != id && alive(l.v, r.ID) && slices.ContainsFunc(r.Open, func(o protocol.Entry) bool { return o.Item == e.Item }) {
			l.w.breach("one open run", "%s: item %d is open at %s and at %s", by, e.Item, id, r.ID)
		}
	}
	n := attempt{keyOf(e), e.Attempt}
	if l.opened[n] {
		l.w.breach("attempts", "%s: item %d run %s begins attempt %d a second time", by, e.Item, runName(e), e.Attempt)
	}
	l.opened[n] = true
	if e.Trigger == "" && e.Attempt == 1 {
		l.begins(e.Item, e.Instant)
		l.passed(e.Item, lastOf(old, e.Item), e.Instant, by)
	}
	l.allowed(id, e, by)
	l.begun[e.Item] = begun{id, e, l.w.tree.Revision()}
}

// nothingLost checks that an open run, a pending run or a row does not leave the tree
// before it has its next place.
func (l *ledger) nothingLost(old *protocol.View, by origin) {
	for k := range old.Runs {
		was := &old.Runs[k]
		r := recordOf(l.v, was.ID)
		if r != nil && r.Version == was.Version && r.Modified == was.Modified {
			continue
		}
		for _, e := range was.Open {
			l.accounted(e, by)
		}
		for _, e := range was.Retries {
			l.accounted(e.Entry, by)
		}
		for _, row := range was.Rows {
			if !l.inRecords(rowKeyOf(row)) && !l.history[rowKeyOf(row)] {
				l.w.breach("rows are stored", "%s: the row of item %d run %s#%d %s is gone and not stored", by, row.Item, runName(row.Entry), row.Attempt, row.State)
			}
		}
		for _, t := range was.Triggers {
			for _, i := range t.Items {
				l.triggerKept(was.ID, t, i, by)
			}
		}
		if r == nil && alive(old, was.ID) && alive(l.v, was.ID) {
			l.w.breach("own record", "%s deleted the record of %s, which is alive", by, was.ID)
		}
	}
	for _, p := range old.Pending {
		if !p.Foreign && !slices.ContainsFunc(l.v.Pending, func(q protocol.Pending) bool { return q.Entry.Same(p.Entry) }) {
			l.accounted(p.Entry, by)
		}
	}
}

// accounted checks that the run is open, waiting or pending, or has a final row.
func (l *ledger) accounted(e protocol.Entry, by origin) {
	if _, ok := l.final[keyOf(e)]; ok || l.took[keyOf(e)] {
		return
	}
	same := func(o protocol.Entry) bool { return keyOf(o) == keyOf(e) }
	for k := range l.v.Runs {
		if slices.ContainsFunc(l.v.Runs[k].Open, same) || slices.ContainsFunc(l.v.Runs[k].Retries, func(r protocol.Retry) bool { return same(r.Entry) }) {
			return
		}
	}
	if slices.ContainsFunc(l.v.Pending, func(p protocol.Pending) bool { return same(p.Entry) }) {
		return
	}
	l.w.breach("no run is lost", "%s: item %d run %s is nowhere any more", by, e.Item, runName(e))
}

// inRecords reports whether a member's record has the row.
func (l *ledger) inRecords(key rowKey) bool {
	for k := range l.v.Runs {
		for _, r := range l.v.Runs[k].Rows {
			if rowKeyOf(r) == key {
				return true
			}
		}
	}
	return false
}

// stored records that the history has the row.
func (l *ledger) stored(r protocol.Row) { l.history[rowKeyOf(r)] = true }

// recordOf returns the record of a member; nil if there is none.
func recordOf(v *protocol.View, id protocol.ID) *protocol.Runs {
	for k := range v.Runs {
		if v.Runs[k].ID == id {
			return &v.Runs[k]
		}
	}
	return nil
}

// alive reports whether the instance is a member of ours that is there.
func alive(v *protocol.View, id protocol.ID) bool {
	return slices.ContainsFunc(v.Members, func(m protocol.Member) bool { return m.ID == id })
}

// last returns the last instant of item i in a list by item; 0 if the list lacks it.
func last(s []int64, i int) int64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// lastOf returns the last instant that the item is accounted for, in the assignment or
// in a record.
func lastOf(v *protocol.View, i int) int64 {
	t := last(v.Assignment.Last, i)
	for k := range v.Runs {
		t = max(t, last(v.Runs[k].Last, i))
	}
	return t
}
