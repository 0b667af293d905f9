package protocol

import (
	"math"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// A job may ask that instants that came while no server was there begin late. The first
// server that joins writes the moment up to which there was none. An item is behind until
// it is accounted for up to that moment. This holds for every owner, so nothing is lost
// when a member dies in between. The schedule is asked for the missed instants.

// Recall asks the schedule for the instants in Gaps, the newest Most of them; answered by
// Recalled.
type Recall struct {
	Gaps []Gap // ascending
	Most int
}

func (Recall) effect() {}

// Gap is the time strictly between two moments, with the schedule of that time.
type Gap struct {
	Cron         string
	After, Until int64
}

// Recalled answers Recall. A gap whose schedule cannot be read has no instants.
type Recalled struct{ Instants []int64 } // ascending

func (Recalled) input() {}

// catchUp is what this member knows of the instants to catch up.
type catchUp struct {
	empty    int64 // when this member joined, if no other member was there
	passed   int64 // the newest instant that had come when this member began to follow the schedule, or the time of that
	from     int64 // instants after from, up to until, were asked for
	until    int64 // 0: none were
	most     int
	awaited  bool
	instants []int64
	*lingering
}

// unattendedUntil is the moment up to which no server was there, for the record of a
// joining member; 0 if there was one, or if the job does not catch up. A server that was
// kept from the job counts as there. While all servers are disabled, none would have begun
// anything.
//
// In the registry, a server that lives on without it looks like a dead one. If it returns
// after this member has joined, this member may have begun instants that the other one has
// begun as well: no fence finds an absent member. Taking the moment back when the other one
// joins would need a lower bound in its record, and would help only before the first begin.
func (s *State) unattendedUntil() int64 {
	v := s.view
	if s.o.CatchUp == 0 || s.backlog.away.why != "" || s.allDisabled() || s.company.shared || slices.ContainsFunc(v.Members, v.attends) || v.assignedElsewhere() {
		return 0
	}
	return s.dateOf(s.now)
}

// attends reports whether the member may have begun instants since the newest assignment. A
// member that the assignment does not name has joined since. Then its server was not there
// before, unless it is disabled.
func (v *View) attends(m Member) bool {
	return slices.Contains(v.Assignment.Members, m.ID) || v.serverDisabled(m.ID.IP())
}

// allDisabled reports whether every server that the job knows, and the one that is about to
// join, is disabled. If that one has no node yet, its Join creates it as the configuration's
// Disabled says.
func (s *State) allDisabled() bool {
	v := s.view
	enabled := func(x Server) bool { return !x.Disabled }
	return !slices.ContainsFunc(v.Servers, enabled) && (v.hasServer(s.o.Base.IP()) || v.Config.Disabled)
}

// assignedElsewhere reports whether an item has an owner that the assignment does not name
// and that has no record. Then foreign members were there, and it is unknown what they ran.
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

// missedUntil is the end of the time to catch up; 0 if there is none. It is the moment up to
// which no server was there, but not after passed, the schedule's first report here: later
// instants come due here. If this member found no other one, its join may be before that
// report. No server has begun the instants in between either, so passed itself is the end.
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

// behind reports whether the item is ours, and accounted for only up to a moment before
// until. One that is accounted for up to no moment at all is new, and has missed nothing.
func (s *State) behind(i int, until int64) bool {
	last := s.accounted(i)
	return last > 0 && last < until && s.mine(i)
}

// recalls asks for the instants that own items have missed. It reports whether the answer
// is outstanding: due instants do not begin before earlier ones.
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
	if m.until == until && m.from <= from && m.most == s.o.CatchUp { // asked for already
		return m.awaited
	}
	s.note(recalled{from, until, s.o.CatchUp})
	r := Recall{Most: s.o.CatchUp}
	for _, g := range s.schedule.gap(Row{After: from, Until: until + 1}) { // one gap for each schedule of that time
		r.Gaps = append(r.Gaps, Gap{g.Cron, g.After, g.Until})
	}
	s.add(r)
	return true
}

// recalled notes what the schedule was asked for.
type recalled struct {
	from, until int64
	most        int
}

// keep notes for what the schedule was asked, and waits for its answer.
func (r recalled) keep(s *State, _ *Plan) {
	m := &s.backlog.catchUp
	m.from, m.until, m.most, m.awaited, m.instants = r.from, r.until, r.most, true, nil
}

// oldestMissed is the item's oldest instant to catch up; 0 if there is none, or if the
// schedule's answer is not about the present end of the time to catch up.
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

// leavesOut reports whether a catch-up of t leaves out missed instants after last, because
// there are more than may begin.
func (s *State) leavesOut(last, t int64) bool {
	m := &s.backlog.catchUp
	k, _ := slices.BinarySearch(m.instants, t)
	if k == 0 { // t is the oldest of the answer; a full answer may lack older ones
		return len(m.instants) >= m.most
	}
	return m.instants[k-1] > last
}

// whyLeftOut is why the instants that a run of t passes over did not begin. The last of them
// shows whether a pause was the reason. The schedule reports it only for the newest instant;
// otherwise it is given as 0, which is in no pause whose beginning is known.
func (s *facts) whyLeftOut(i int, t int64, cause Cause) reason.Reason {
	switch {
	case cause == CaughtUp:
		return s.whyNoServer(i, 0)
	case s.schedule.latest.At != t:
		return s.whyOf(i, 0)
	}
	return s.whyOf(i, s.schedule.latest.Prev)
}

// catchUpRefused is why a job that is to catch up cannot; none otherwise.
func (s *State) catchUpRefused() reason.Reason {
	if s.self == "" || s.o.CatchUp == 0 || !s.company.shared {
		return reason.Reason{}
	}
	return reason.Of(reason.CatchUpForeign)
}

// catchUp begins the oldest missed instant of each item. If the item may not begin now, its
// missed instants are given up, so nothing begins by itself when an operator resumes the
// job. If they came in a pause that is over, those after the pause still begin.
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
			b.giveUpMissed(i, newest, s.whyNoServer(i, newest))
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

// givesUpMissed reports whether the item's missed instants get their row in this
// transaction.
func (b *beginning) givesUpMissed(i int) bool {
	_, found := slices.BinarySearch(b.givenUp, i)
	return found
}

// missedBefore is the newest instant to catch up before t. There must be one.
func (s *State) missedBefore(t int64) int64 {
	m := &s.backlog.catchUp
	k, _ := slices.BinarySearch(m.instants, t)
	return m.instants[k-1]
}

// giveUpMissed accounts for the item's missed instants up to newest, with a row for each
// schedule that they came from.
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
	b.m.More = b.m.More || s.schedule.tick.At != 0 // the due instant begins in the next transaction
}
