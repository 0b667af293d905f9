package protocol

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Foreign members keep no records. Our members know what foreign members ran, and had open
// when they died, only from what they have seen.

// foreignMember is a foreign member as it was last seen.
type foreignMember struct {
	id      ID
	session int64
	open    []Entry // the runs that it marks, ascending by item
	gone    int64   // when its instance went; 0: it exists
	quiet   int64   // since when its instance is gone and its server's node unchanged
	server  int32   // version of its server's node
}

// watchForeign notes the runs, deaths and takeovers of foreign members. First it follows each
// of them: what it marks, since when it is gone, and what it then had open. A member that is
// gone is forgotten once its runs are accounted for and nothing names it any more. Then it
// notes up to where items of foreign members are accounted for, and since when each pending
// run of a foreign member (left) is there.
func (s *State) watchForeign() {
	v, w := s.view, &s.evidence
	if !s.company.shared && len(w.members) == 0 && !v.hasForeignPending() {
		s.evidence = evidence{watched: true}
		return
	}
	for _, in := range v.Instances {
		if v.member(in.ID) {
			continue
		}
		k := slices.IndexFunc(w.members, func(t foreignMember) bool { return t.id == in.ID })
		if k < 0 {
			w.members = append(w.members, foreignMember{id: in.ID})
			k = len(w.members) - 1
		}
		t := &w.members[k]
		t.session, t.gone = in.Owner, 0
		t.open = s.marked(t)
	}
	w.members = slices.DeleteFunc(w.members, func(t foreignMember) bool { return v.instance(t.id) == nil && s.resolved(&t) && !v.owns(t.id) })
	for k := range w.members {
		t := &w.members[k]
		if v.instance(t.id) == nil && t.gone == 0 {
			t.gone = s.now
			// If the mark is still there, no death ended the run: an operator shut the job
			// down there. The run's end will not be seen.
			t.open = slices.DeleteFunc(t.open, func(e Entry) bool { return v.item(e.Item).Running == t.session || s.endedFirst(e.Item) })
		}
		if version := v.serverVersion(t.id.IP()); t.gone == s.now || version != t.server {
			t.quiet, t.server = s.now, version
		}
		// Another foreign member has taken the run, and may have ended it by now.
		t.open = slices.DeleteFunc(t.open, func(e Entry) bool {
			it := v.item(e.Item)
			return t.gone != 0 && (w.isSession(it.Running) || t.gone < s.now && e.Item < len(w.marks) && it.Marks != w.marks[e.Item])
		})
	}
	s.seeRuns()
	for k := range w.members {
		if w.members[k].gone == s.now {
			s.discountLastRuns(&w.members[k])
		}
	}
	s.seeTakes()
	s.seeFailover()
	w.seeStray(v, s.now)
	var seen []foreignPending
	for _, p := range v.Pending {
		if !p.Foreign {
			continue
		}
		l := foreignPending{p.Item, p.Modified, s.now}
		if k := slices.IndexFunc(w.left, func(o foreignPending) bool { return o.item == p.Item && o.modified == p.Modified }); k >= 0 {
			l = w.left[k]
		}
		seen = append(seen, l)
	}
	w.left, w.instances, s.evidence.watched = seen, v.InstancesVersion, true
}

// discountLastRuns takes back the newest runs of a foreign member that has gone: up to their
// begin, instants count as not seen to run. If such a member is stopped at an instant, it
// marks its items, runs none of them, and goes, which looks like short runs.
func (s *State) discountLastRuns(t *foreignMember) {
	w := &s.evidence
	for i := range s.view.Items {
		open := slices.ContainsFunc(t.open, func(e Entry) bool { return e.Item == i })
		if !open && s.view.Items[i].Owner == t.id && i < len(w.holes) && s.now < at(w.ended, i)+lastRun {
			w.holes[i] = at(w.ran, i)
		}
	}
}

// lastRun is the time, in ms. If a foreign member goes within it after its last mark, it
// may not have run what it marked: stopping takes it half a second.
const lastRun = 1_000

// hasForeignPending reports whether some pending node was written by a foreign member.
func (v *View) hasForeignPending() bool {
	return slices.ContainsFunc(v.Pending, func(p Pending) bool { return p.Foreign })
}

// marked returns the runs that a foreign member marks. A new mark is taken for a run of the
// newest instant. A run by trigger or misfire looks the same, unless that instant is
// accounted for, or the item was seen to begin a run since. Of several marks since the last
// view, the first was of the instant.
func (s *State) marked(t *foreignMember) []Entry {
	w := &s.evidence
	var open []Entry
	for i := range s.view.Items {
		it := s.view.Items[i]
		if it.Running != t.session {
			continue
		}
		fresh := int32(0) // marks since the last view
		if at(w.ran, i) != 0 {
			fresh = it.Marks - w.marks[i]
		}
		k, found := slices.BinarySearchFunc(t.open, i, func(e Entry, i int) int { return e.Item - i })
		if found && fresh <= 0 { // the same run as in the view before
			open = append(open, t.open[k])
			continue
		}
		e := Entry{Item: i, Instant: s.schedule.latest.At, Cause: Scheduled, Attempt: 1, Begun: s.now}
		if e.Instant <= max(s.view.last(i), at(w.ran, i)) || fresh > 1 {
			e.Instant, e.Cause, e.Trigger = s.now, Triggered, fmt.Sprintf("j%d", s.now)
		}
		open = append(open, e)
	}
	return open
}

// seeRuns notes for each item of a foreign member when it was last seen to begin (ran), up to
// where instants before that may not have run (holes), and when it was last seen running
// (ended). A begin shows as a change of the count of its marks. The remains of an item beyond
// the total may name an owner that never had it.
func (s *State) seeRuns() {
	v, w := s.view, &s.evidence
	for i := range v.Items {
		it := &v.Items[i]
		if !w.isForeign(it.Owner) && !w.isForeign(v.Assignment.owner(i)) {
			if at(w.ran, i) != 0 { // it is ours now
				w.ran[i] = 0
			}
			s.seeLateRun(i)
			continue
		}
		for len(w.marks) <= i {
			w.marks, w.holes = append(w.marks, 0), append(w.holes, 0)
		}
		late := w.forgetLateRun(i)
		switch last := v.last(i); {
		case v.Config != nil && i >= v.Config.Total:
		case at(w.ran, i) == 0 && s.evidence.watched && last > 0: // it has just moved there from one of ours
			if w.ran, w.holes[i] = set(w.ran, i, last), 0; late.at > last {
				w.ran[i], w.holes[i] = late.at, late.hole
			}
			if w.isSession(it.Running) {
				w.ran[i] = s.now // it began as soon as it was assigned
			}
		case at(w.ran, i) == 0: // it was there before this member watched, or is new
			if w.ran, w.holes[i] = set(w.ran, i, s.now), 0; last > 0 {
				w.holes[i] = s.now
			}
		case it.Marks != w.marks[i]:
			switch {
			case s.schedule.latest.Prev == 0: // which instants it has left out is unknown
				w.holes[i] = s.now
			case w.ran[i] < s.schedule.latest.Prev: // up to this instant, which it began
				w.holes[i] = max(w.ran[i], s.schedule.latest.At-1)
			}
			w.ran[i] = s.now
		}
		if it.Running != 0 || it.Marks != w.marks[i] {
			w.ended = set(w.ended, i, s.now)
		}
		w.marks[i] = it.Marks
	}
}

// seeLateRun notes when a foreign member begins an item of ours, which its mark shows. If the
// newest instants before that were not accounted for, they are its hole.
func (s *State) seeLateRun(i int) {
	w, session := &s.evidence, s.view.Items[i].Running
	if !w.isSession(session) {
		session = 0
	}
	if session == 0 && i >= len(w.late) {
		return
	}
	if more := i + 1 - len(w.late); more > 0 {
		w.late = append(w.late, make([]lateRun, more)...)
	}
	l := &w.late[i]
	began := session != 0 && l.session != session
	if l.session = session; !began {
		return
	}
	if l.at, l.hole = s.now, 0; s.view.last(i) < s.schedule.latest.Prev {
		l.hole = max(s.view.last(i), s.schedule.latest.At-1)
	}
}

// forgetLateRun returns and forgets the late run of an item that is foreign again.
func (w *evidence) forgetLateRun(i int) (was lateRun) {
	if i < len(w.late) {
		was, w.late[i] = w.late[i], lateRun{}
	}
	return was
}

// isForeign reports whether the id is, or was, that of a foreign member.
func (w *evidence) isForeign(id ID) bool {
	return slices.ContainsFunc(w.members, func(t foreignMember) bool { return t.id == id })
}

// accountFor sets the moment up to which each assigned item is accounted for. An item of a
// foreign member is accounted for up to its last begin that was seen; if a death ended that
// run, up to just before it. Foreign members keep no rows, so instants that were not seen
// to run get one. An item without former owner is accounted for up to when the mark was
// seen, since what comes due during the wait for the reshard belongs to it.
func (s *State) accountFor(next *Assignment, own *RunsData) {
	if !slices.ContainsFunc(next.Last, func(t int64) bool { return t != 0 }) { // a new job has begun nothing before
		next.idle(Span{To: s.dateOf(s.reshard.since)})
	}
	begins := s.weigh(own) // grows by the rows of runs that began unseen
	for i := range next.Total {
		s.beganUnseen(i, next, own, &begins)
		last := s.dateOf(at(s.evidence.ran, i))
		if e := s.evidence.leftOpen(i); e != nil && last != 0 { // its member died in that run
			last = e.Instant - 1
		}
		if before := at(next.Last, i); last > before && !s.evidence.isForeign(next.owner(i)) {
			if hole := min(at(s.evidence.holes, i), last); before > 0 && hole > before {
				own.rows(s.schedule.gap(Row{Entry: Entry{Item: i, Instant: hole}, After: before, Until: hole + 1, State: Lost, Why: reason.Of(reason.ForeignHadItem), By: s.self}))
			}
			next.Last = set(next.Last, i, last)
		}
		if at(next.Last, i) == 0 {
			next.Last = set(next.Last, i, max(s.beganAt(i), 1))
		}
		s.comesBack(i, next, own)
	}
}

// beganUnseen accounts for runs of an item by foreign members while none of ours was there,
// up to the last begin (ForeignBegan). Which earlier instants they ran is unknown, so these
// get rows, up to the end of a second, so that rows of several items share an entry. Rows that
// would take more than a quarter of a transaction wait: nothing is accounted for of their
// items, and begin writes in parts what was missed. w is the size of own.
func (s *State) beganUnseen(i int, next *Assignment, own *RunsData, w *weight) {
	began, before := s.view.item(i).ForeignBegan, at(next.Last, i)
	if s.future(began) { // a time of its member's clock
		began = s.registryTime()
	}
	if began <= before {
		return
	}
	if hole := began - began%second - 1; before > 0 && hole > before { // the instant that it began lies in that second
		rows := s.schedule.gap(Row{Entry: Entry{Item: i, Instant: hole}, After: before, Until: hole + 1, State: Lost, Why: reason.Of(reason.ForeignHadItem), By: s.self})
		for k := range rows {
			w.row(&rows[k])
		}
		if s.o.MaxBytes > 0 && w.bytes() > s.o.MaxBytes/4 {
			return
		}
		own.rows(rows)
	}
	next.Last = set(next.Last, i, began)
}

// second is in ms. Each instant of a schedule begins a full second.
const second = 1_000

// comesBack accounts for an item that the assignment before did not have: no server missed
// instants that came meanwhile. They still get a row, since without one the history would
// look as if rows were lost. If foreign members own the item, it may have existed since the
// total changed.
func (s *State) comesBack(i int, next *Assignment, own *RunsData) {
	before, existed, from := at(next.Last, i), s.view.Assignment.Total, s.beganAt(i)
	if s.evidence.isForeign(s.view.item(i).Owner) {
		from = s.dateOf(s.schedule.total.since)
	}
	// Not for a new job, and not for an item that was there. Of foreign members, rows come later.
	if existed == 0 || i < existed || before >= from || s.evidence.isForeign(next.owner(i)) {
		return
	}
	own.rows(s.schedule.gap(Row{Entry: Entry{Item: i, Instant: from}, After: before, Until: from + 1, State: Skipped, Why: reason.Of(reason.ItemDidNotExist), By: s.self}))
	next.Last = set(next.Last, i, from)
}

// beganAt is the moment up to which an item without former owner needs no rows: when the
// reshard that is to assign it was asked for, or when the total changed that added the item,
// whichever is later.
func (s *State) beganAt(i int) int64 {
	if i < s.view.Assignment.Total {
		return s.dateOf(s.reshard.since)
	}
	return s.dateOf(max(s.reshard.since, s.schedule.total.since))
}

// leftOpen returns the run of the item that a foreign member had open when it went; nil if
// there is none.
func (w *evidence) leftOpen(i int) *Entry {
	for k := range w.members {
		for n := range w.members[k].open {
			if e := &w.members[k].open[n]; w.members[k].gone != 0 && e.Item == i {
				return e
			}
		}
	}
	return nil
}

// owns reports whether the assignment or an owner's node still names the id.
func (v *View) owns(id ID) bool {
	return slices.Contains(v.Assignment.Owners, id) || slices.ContainsFunc(v.Items, func(it Item) bool { return it.Owner == id })
}

// early corrects what was noted of runs that a foreign member, whose clock is ahead of ours,
// began just before their instant t came here: they are of t, not triggers or of the instant
// before.
func (w *evidence) early(t Tick) {
	if t.Prev == 0 {
		return
	}
	from := t.At - min(aheadAtMost, (t.At-t.Prev)/2)
	for k := range w.members {
		for n := range w.members[k].open {
			if e := &w.members[k].open[n]; e.Begun >= from && e.Instant < t.At {
				e.Instant, e.Cause, e.Trigger = t.At, Scheduled, ""
			}
		}
	}
	for i, ran := range w.ran {
		if ran >= from && ran < t.At && w.marks[i] != 0 {
			w.ran[i] = t.At
		}
	}
}

// aheadAtMost is the time in ms by which a foreign member's clock may be ahead of ours.
const aheadAtMost = 1_000

// serverVersion is the version of the node of a server; -1 if it is not there.
func (v *View) serverVersion(ip string) int32 {
	if s := v.server(ip); s != nil {
		return s.Version
	}
	return -1
}
