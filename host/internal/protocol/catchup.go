package protocol

import (
	"math"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// A job may ask that instants which came while no server was there begin late. The first
// server that joins writes until when none was there. An item is behind until it is
// accounted for up to that moment. This holds for every owner, so nothing is lost when a
// member dies in between. The schedule is asked which instants these are.

// Recall asks for the newest instants of gaps, at most so many; answered by Recalled.
type Recall struct {
	Gaps []Gap // ascending
	Most int
}

func (Recall) effect() {}

// Gap is the time strictly between two moments, by one schedule.
type Gap struct {
	Cron         string
	After, Until int64
}

// Recalled answers Recall. A gap whose schedule cannot be read has no instants.
type Recalled struct{ Instants []int64 } // ascending

func (Recalled) input() {}

// catchUp is what this member knows of the instants to catch up.
type catchUp struct {
	empty    int64 // when this member joined, if no other was there
	passed   int64 // the newest instant that had come when it began to follow the schedule, or when that was
	from     int64 // instants after this were asked for
	until    int64 // and up to this; 0: none were
	most     int
	awaited  bool
	instants []int64
	*lingering
}

// unattendedUntil is the moment up to which no server was there, for the record of a
// joining member; 0 if one was, or if the job does not catch up. A server that was kept
// from the job counts as there. While all servers are disabled, none would have begun
// anything.
//
// Servers that live on without the registry leave no more in it than dead ones do. If they
// return only after this one has joined, it counts what they missed, and may have begun
// that before they return: no fence finds an absent member. To take the moment back with
// their join would need a lower bound in their record, and would help only where they
// return before the first begin.
func (s *State) unattendedUntil() int64 {
	v := s.view
	if s.o.CatchUp == 0 || s.backlog.away.why != "" || s.allDisabled() || s.company.shared || slices.ContainsFunc(v.Members, v.attends) || v.assignedElsewhere() {
		return 0
	}
	return s.dateOf(s.now)
}

// attends: the member may have begun instants since the newest assignment. A member that
// the assignment does not name has joined since, and its server was not there before,
// unless it is disabled.
func (v *View) attends(m Member) bool {
	return slices.Contains(v.Assignment.Members, m.ID) || v.serverDisabled(m.ID.IP())
}

// allDisabled: every server that the job knows is disabled, also the one that is about
// to join.
func (s *State) allDisabled() bool {
	v := s.view
	enabled := func(x Server) bool { return !x.Disabled }
	return !slices.ContainsFunc(v.Servers, enabled) && (v.hasServer(s.o.Base.IP()) || v.Config.Disabled)
}

// assignedElsewhere: an item has an owner that the assignment does not name. Foreign
// members were there, and it is not known what they ran.
func (v *View) assignedElsewhere() bool {
	return slices.ContainsFunc(v.Items, func(it Item) bool {
		return it.Owner != "" && !slices.Contains(v.Assignment.Members, it.Owner) && v.runs(it.Owner) == nil
	})
}

// unattended is the newest moment up to which no server was there.
func (v *View) unattended() int64 {
	t := v.Assignment.Unattended
	for k := range v.Runs {
		t = max(t, v.Runs[k].Unattended)
	}
	return t
}

// missedUntil is the end of the time to catch up; 0: there is none. Later instants come
// due here, except those between the join and the first report of the schedule. A member
// that found no other one uses its join and that report alone.
func (s *State) missedUntil() int64 {
	until := max(s.view.unattended(), s.backlog.catchUp.empty)
	switch {
	case s.o.CatchUp == 0 || until == 0:
		return 0
	case s.backlog.catchUp.empty != 0:
		return s.backlog.catchUp.passed
	}
	return min(until, s.backlog.catchUp.passed)
}

// behind: the item was not accounted for when the last server had gone, and has not been
// since.
func (s *State) behind(i int, until int64) bool {
	last := s.accounted(i)
	return last > 0 && last < until && s.mine(i)
}

// recalls asks for the instants that own items have missed. It reports whether the
// answer is awaited: due instants do not begin before earlier ones.
func (s *facts) recalls() bool {
	from, until := int64(0), s.missedUntil()
	if until == 0 {
		return false
	}
	for i := range s.view.total() {
		if last := s.accounted(i); s.behind(i, until) && (from == 0 || last < from) {
			from = last
		}
	}
	m := s.backlog.catchUp
	if from == 0 {
		return false
	}
	if m.until == until && m.from <= from && m.most == s.o.CatchUp {
		return m.awaited
	}
	s.note(recalled{from, until, s.o.CatchUp})
	r := Recall{Most: s.o.CatchUp}
	for _, g := range s.schedule.gap(Row{After: from, Until: until + 1}) {
		r.Gaps = append(r.Gaps, Gap{g.Cron, g.After, g.Until})
	}
	s.add(r)
	return true
}

// recalled takes the answer of the schedule.
type recalled struct {
	from, until int64
	most        int
}

func (r recalled) keep(s *State, _ *Plan) {
	m := &s.backlog.catchUp
	m.from, m.until, m.most, m.awaited, m.instants = r.from, r.until, r.most, true, nil
}

// oldestMissed is the oldest instant of the item to catch up; 0: there is none.
func (s *State) oldestMissed(i int) int64 {
	m := &s.backlog.catchUp
	if len(m.instants) == 0 || m.until != s.missedUntil() || !s.behind(i, m.until) {
		return 0
	}
	k, _ := slices.BinarySearch(m.instants, s.accounted(i)+1)
	if k == len(m.instants) {
		return 0
	}
	return m.instants[k]
}

// leavesOut: there are more missed instants before the first one to catch up than may
// begin.
func (s *State) leavesOut(last, t int64) bool {
	m := &s.backlog.catchUp
	k, _ := slices.BinarySearch(m.instants, t)
	if k == 0 {
		return len(m.instants) >= m.most
	}
	return m.instants[k-1] > last
}

// whyLeftOut is why the instants that a run of t passes over were not begun. Only with the
// newest instant has the schedule said which came before it.
func (s *facts) whyLeftOut(i int, t int64, cause Cause) reason.Reason {
	switch {
	case cause == CaughtUp:
		return s.whyNobody(i, 0)
	case s.schedule.latest.At != t:
		return s.whyOf(i, 0)
	}
	return s.whyOf(i, s.schedule.latest.Prev)
}

// catchUpRefused is why a job that asks for it cannot catch up; none otherwise.
func (s *State) catchUpRefused() reason.Reason {
	if s.self == "" || s.o.CatchUp == 0 || !s.company.shared {
		return reason.Reason{}
	}
	return reason.Of(reason.CatchUpForeign)
}

// catchUp begins, of each item, the oldest instant to catch up. An item that may not
// begin now does not catch up: nothing begins by itself when an operator resumes the
// job.
func (b *beginning) catchUp() {
	s := b.s
	for i := range s.view.total() {
		t := s.oldestMissed(i)
		if t == 0 || s.busy(i) {
			continue
		}
		newest := s.missedBefore(math.MaxInt64)
		switch {
		case !s.company.ours():
			b.giveUpMissed(i, newest, s.whyNobody(i, newest))
		case s.paused():
			b.giveUpMissed(i, newest, s.view.Pause.Reason())
		case s.view.item(i).Disabled:
			b.giveUpMissed(i, newest, reason.Of(reason.ItemDisabled))
		case s.view.cameInPause(t):
			b.giveUpMissed(i, s.missedBefore(s.view.Pause.Until), s.view.Pause.Reason())
		default:
			b.open(i, t, CaughtUp)
		}
	}
}

// givesUpMissed: the item's missed instants have their row in this transaction.
func (b *beginning) givesUpMissed(i int) bool {
	_, found := slices.BinarySearch(b.givenUp, i)
	return found
}

// missedBefore is the newest instant to catch up before a moment.
func (s *State) missedBefore(t int64) int64 {
	m := &s.backlog.catchUp
	k, _ := slices.BinarySearch(m.instants, t)
	return m.instants[k-1]
}

// giveUpMissed accounts for the missed instants of the item up to one, with a row.
func (b *beginning) giveUpMissed(i int, newest int64, why reason.Reason) {
	s := b.s
	rows := s.schedule.gap(Row{Entry: Entry{Item: i, Instant: newest}, After: s.accounted(i), Until: newest + 1, State: Missed, Why: why, By: s.self})
	if !b.fits(Entry{Item: i, Instant: newest, Cause: CaughtUp}, rows) {
		b.m.More = true
		return
	}
	b.m.Own.rows(rows)
	b.m.Own.Last = set(b.m.Own.Last, i, newest)
	b.givenUp, b.changed = append(b.givenUp, i), true
	b.m.More = b.m.More || s.schedule.tick.At != 0 // the tick is answered when this is settled
}
