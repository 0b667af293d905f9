package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// A foreign member that dies leaves no record of its open runs. One of our members turns
// them into what our records would leave: pending runs with their instant, or rows. A run
// of ours that a foreign member takes gets a row as well.

// seeTakes notes a row for each pending run of ours that a foreign member has taken. Such a
// run was in the view before (pending), and is gone without an outcome: if a member of ours
// takes a run, drops it, or begins a later run of the item, a record has that. Only the
// reclaimer writes these rows.
func (s *State) seeTakes() {
	v, w := s.view, &s.evidence
	var emptied []Pending
	for _, p := range w.pending {
		now := v.pending(p.Item)
		if now != nil && now.Foreign && now.Version > p.Version { // see State.emptied
			emptied = append(emptied, p)
		}
		if now != nil || !s.company.reclaims || v.hasOutcome(p.Entry) {
			continue
		}
		r := Row{Entry: p.Entry, State: TakenOver, Why: reason.Of(reason.ForeignTookOver), Ended: s.now, By: p.Dead} // who took it is unknown
		w.taken = append(w.taken, r)
	}
	w.pending = nil
	if s.company.shared {
		named := slices.DeleteFunc(slices.Clone(v.Pending), func(p Pending) bool { return p.Foreign })
		w.pending = append(emptied, named...)
	}
}

// emptied returns the run that a pending node had before a member of ElasticJob wrote the
// node anew, without a value. ElasticJob does that when it wants to make the run of a dead
// member of ours pending, did not see a node, and then finds one.
func (s *State) emptied(p *Pending) *Pending {
	k := slices.IndexFunc(s.evidence.pending, func(o Pending) bool { return o.Item == p.Item && o.Version < p.Version })
	if k < 0 {
		return nil
	}
	return &s.evidence.pending[k]
}

// hasOutcome reports whether a record of ours has the run, its row, or a later run of the
// item.
func (v *View) hasOutcome(e Entry) bool {
	same := func(o Entry) bool { return o.Item == e.Item && o.Instant == e.Instant && o.Trigger == e.Trigger }
	for k := range v.Runs {
		d := &v.Runs[k]
		open := slices.ContainsFunc(d.unfinished(), func(r Retry) bool { return same(r.Entry) })
		if open || slices.ContainsFunc(d.Rows, func(r Row) bool { return !r.Gap && same(r.Entry) && r.Attempt >= e.Attempt }) {
			return true
		}
	}
	return v.last(e.Item) > e.Instant
}

// recordTaken writes the rows of runs of ours that foreign members have taken. A run that was
// taken by a member of ours after all gets none: the record of that member has the run or its
// row.
func recordTaken(s *facts) Mutation {
	if !s.company.reclaims || s.session.health != Trusted || len(s.evidence.taken) == 0 {
		return nil
	}
	m := RecordTaken{Self: s.self, Own: s.next(s.own())}
	without := slices.DeleteFunc(slices.Clone(s.evidence.taken), func(r Row) bool { return s.view.hasOutcome(r.Entry) })
	s.note(taken(without))
	for _, r := range without {
		m.Own.row(r)
	}
	if len(without) == 0 {
		return nil
	}
	return m
}

// taken is the rows of runs that foreign members have taken, which are still to be written.
type taken []Row

// keep replaces the rows that are still to be written.
func (t taken) keep(s *State, _ *Plan) { s.evidence.taken = t }

// openElsewhere reports whether another member of ours runs the item, which marks may not
// show. A process of ElasticJob whose session ended during a run deletes the item's marks
// when the run ends, also those of a member that has taken the run meanwhile. And runs that
// begin while monitorExecution is off have no mark.
func (s *State) openElsewhere(i int) bool {
	v := s.view
	return slices.ContainsFunc(v.Runs, func(r Runs) bool { return r.ID != s.self && r.entry(i) != nil && !v.dead(r.ID) })
}

// resolved reports whether nothing is left to do for a foreign member that is gone.
func (s *State) resolved(t *foreignMember) bool {
	return t.gone != 0 && !slices.ContainsFunc(t.open, func(e Entry) bool { return !s.handled(e) })
}

// handled reports whether a run that a foreign member had open is pending, taken, running
// or accounted for.
func (s *State) handled(e Entry) bool {
	v := s.view
	it, p := v.item(e.Item), v.pending(e.Item)
	return p != nil && !p.Foreign || it.taken() || it.Running != 0 || v.last(e.Item) >= e.Instant
}

// reclaimForeign makes pending what a foreign member had open when it died, once it has been
// gone for half a second. No node has the run's instant; a member of ours has seen it. If a
// foreign member wrote a pending node, and no foreign member has taken the item within half a
// second, the instant is written into that node, so that a member of ours can take it. This
// waits while a member of ours runs the item, as an item has one open run at a time: the dead
// member may have begun it beside that run, after ElasticJob had deleted the running mark.
func reclaimForeign(s *facts) Mutation {
	v := s.view
	if !s.reclaimsForeign() {
		return nil
	}
	m := ReclaimForeign{Self: s.self, Own: s.next(s.own()), Next: v.Assignment.clone()}
	r, done := s.room(), false
	for k := range s.evidence.members {
		t := &s.evidence.members[k]
		if t.gone == 0 || s.resolved(t) {
			continue
		}
		if s.now < t.quiet+grace {
			s.hold(t.quiet + grace)
			continue
		}
		for _, e := range t.open {
			if s.handled(e) || v.pending(e.Item) != nil || v.open(e.Item) {
				continue
			}
			if !r.take(v.item(e.Item).nodesToPend()) {
				break
			}
			done = true
			m.Next.Last = set(m.Next.Last, e.Item, max(at(m.Next.Last, e.Item), e.Instant))
			if why := s.notAgain(e, false); why != "" {
				s.closes(&m.Own, Row{Entry: e, State: Lost, Why: reason.Of(why), Ended: s.now, By: t.id})
				continue
			}
			m.Pend = append(m.Pend, Pending{Item: e.Item, Entry: e, Dead: t.id})
		}
	}
	for k := range v.Pending {
		p := &v.Pending[k]
		if it := v.item(p.Item); !p.Foreign || !s.company.shared || it.taken() || it.Running != 0 || v.open(p.Item) || !s.takeDue(p) || s.wasIdle(p) || !v.Config.Failover {
			continue
		}
		if !r.take(v.item(p.Item).nodesToPend()) {
			break
		}
		run := s.identified(p)
		done = true
		m.Next.Last = set(m.Next.Last, p.Item, max(at(m.Next.Last, p.Item), run.Entry.Instant))
		m.Pend = append(m.Pend, run)
	}
	if !done {
		return nil
	}
	m.Check = s.others()
	slices.SortFunc(m.Pend, func(a, b Pending) int { return a.Item - b.Item })
	return m
}

// others lists all other members with a record. Beside foreign members, a mutation that
// deletes a pending run checks them: one of our members may take the run and end it, and a
// foreign member may then create the node again with the version that was seen here.
func (s *State) others() []ID {
	var ids []ID
	for k := range s.view.Runs {
		if id := s.view.Runs[k].ID; id != s.self {
			ids = append(ids, id)
		}
	}
	return ids
}

// reclaimsForeign reports whether there are or were foreign members, and this member
// reclaims what they leave.
func (s *State) reclaimsForeign() bool {
	return s.company.reclaims && s.config() != nil && s.view.Assignment.Exists && s.session.health == Trusted &&
		(len(s.evidence.members) > 0 || s.company.shared)
}

// takeDue reports whether a pending run that a foreign member wrote may be taken here: no
// foreign member has taken it in time, and the schedule's newest instant is known. A member
// that has just joined does not know that instant yet, and would give the run an older one.
func (s *facts) takeDue(p *Pending) bool {
	k := slices.IndexFunc(s.evidence.left, func(l foreignPending) bool { return l.item == p.Item })
	if k < 0 || s.undated() {
		return false
	}
	until := s.evidence.left[k].since + grace
	if s.now < until {
		s.hold(until)
	}
	return s.now >= until
}

// wasIdle reports whether a pending run that a foreign member wrote is of an item that was
// not running: the item is accounted for up to the newest instant, or was seen to run it,
// and no open run of it was left. ElasticJob writes one for each item of an instance that is
// gone.
func (s *State) wasIdle(p *Pending) bool {
	if s.emptied(p) != nil {
		return false
	}
	w := &s.evidence
	seen := at(w.holes, p.Item) < s.schedule.latest.At && at(w.ran, p.Item) >= s.schedule.latest.At
	return s.unaccountedRun(p.Item) == nil && s.schedule.latest.At > 0 && (seen || s.view.last(p.Item) >= s.schedule.latest.At)
}

// unaccountedRun returns the item's run that a foreign member had open when it went, unless
// a member has accounted for it.
func (s *State) unaccountedRun(i int) *Entry {
	if e := s.evidence.leftOpen(i); e != nil && s.view.last(i) < e.Instant {
		return e
	}
	return nil
}

// identified returns a pending run that a foreign member wrote with the run that it stands
// for: the one that the owner had open when it went, or else one of the newest instant.
func (s *State) identified(p *Pending) Pending {
	if was := s.emptied(p); was != nil {
		return *was
	}
	if e := s.unaccountedRun(p.Item); e != nil {
		return Pending{Item: p.Item, Entry: *e}
	}
	e := Entry{Item: p.Item, Instant: max(s.schedule.latest.At, s.view.last(p.Item)), Cause: Failover, Attempt: 1}
	if e.Instant == 0 {
		e = s.unidentified(p)
	}
	return Pending{Item: p.Item, Entry: e}
}
