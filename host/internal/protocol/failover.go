package protocol

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// reclaim ends the record of one dead member, in parts if it is large: its rows move to the
// reclaimer's record, and its open runs become pending or get a row.
func reclaim(s *facts) Mutation {
	v := s.view
	if !s.company.reclaims || s.config() == nil || !v.Assignment.Exists || s.session.health != Trusted {
		return nil
	}
	if d := s.deadRecord(); d != nil && d.ID != s.self {
		return s.reclaimInParts(d)
	}
	return nil
}

// reclaimInParts halves the part of the dead member's record to move until its transaction is
// small enough. The smallest part is tried whatever its size.
func (s *facts) reclaimInParts(d *Runs) Mutation {
	for part := len(d.Rows) + len(d.Open) + len(d.Retries); ; part /= 2 {
		m := s.reclaimDead(d, part)
		if m == nil {
			return nil
		}
		if part <= 1 || s.used.holds(0, m.bytes()) {
			return *m
		}
	}
}

// bytes is the size of all values of a transaction.
func (m *Reclaim) bytes() int {
	n := m.Own.Bytes() + m.Next.Bytes()
	if m.Rest != nil {
		n += m.Rest.Bytes()
	}
	for k := range m.Pend {
		n += m.Pend[k].bytes()
	}
	return n
}

// reclaimDead moves at most part rows and runs out of a dead member's record. Rows go to the
// own record, counts to the assignment. A run becomes pending or, if it may not run again,
// gets a row. Live owners of items with a pending run are checked: one of them may begin the
// item meanwhile.
func (s *facts) reclaimDead(d *Runs, part int) *Reclaim {
	v := s.view
	m := &Reclaim{Self: s.self, Dead: d.ID, Own: s.next(s.own()), Next: v.Assignment.clone()}
	m.Next.fold(d.RunsData)
	m.Next.Flow.add(d.Flow)
	m.Next.Results.add(d.Results)
	m.Next.Tallies = withTallies(m.Next.Tallies, d.Tallies)
	m.Next.Schedules = s.schedule.known
	rows := min(s.rowsLeft(&m.Own), len(d.Rows), max(part, 1))
	for _, r := range d.Rows[:rows] {
		m.Own.row(r)
	}
	r, open, waits := s.room(), 0, map[int]bool{} // waits: items with a run that becomes pending, one each
	for _, u := range d.unfinished() {
		e := u.Entry
		if rows+open >= part || !r.take(v.item(e.Item).nodesToPend()) { // more is for the next part
			break
		}
		open++
		if s.company.shared { // foreign members take every pending run at once
			u.After = 0
		}
		why := s.notAgain(e, u.After != 0)
		if why == "" && waits[e.Item] {
			why = reason.ServerGoneAnotherRun
		}
		if why != "" {
			s.closes(&m.Own, Row{Entry: e, State: Interrupted, Why: reason.Of(why), Ended: s.now, By: d.ID})
			if open <= len(d.Open) { // it was open; a run that waited for its next attempt has no mark
				m.Unmark = append(m.Unmark, e.Item)
			}
			continue
		}
		m.Pend = append(m.Pend, Pending{Item: e.Item, Entry: e, After: u.After, Dead: d.ID})
		waits[e.Item] = true
		if o := v.Assignment.owner(e.Item); o != s.self && !v.dead(o) && v.runs(o) != nil && !slices.Contains(m.Check, o) {
			m.Check = append(m.Check, o)
		}
	}
	slices.Sort(m.Unmark)
	m.Unmark = slices.DeleteFunc(slices.Compact(m.Unmark), func(i int) bool { return waits[i] }) // making a run pending deletes the marks as well
	if rows < len(d.Rows) || open < len(d.Open)+len(d.Retries) {
		if rows+open == 0 {
			return nil // the own record is full of rows that are not stored yet
		}
		rest := *d.RunsData
		rest.Rows, rest.Open = d.Rows[rows:], d.Open[min(open, len(d.Open)):]
		rest.Flow, rest.Results, rest.Tallies = Flow{}, Results{}, nil // they have moved to the assignment
		rest.Retries = d.Retries[max(open-len(d.Open), 0):]
		m.Rest = &rest
		return m
	}
	for _, t := range d.Triggers {
		for _, i := range t.Items {
			e := Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1}
			s.closes(&m.Own, Row{Entry: e, State: Interrupted, Why: reason.Of(reason.ServerGoneBeforeBegin), Ended: s.now, By: d.ID})
		}
	}
	return m
}

// unfinished lists the open runs, then those that wait for a retry, whose After is not 0.
func (d *RunsData) unfinished() []Retry {
	var all []Retry
	for _, e := range d.Open {
		all = append(all, Retry{Entry: e})
	}
	return append(all, d.Retries...)
}

// notAgain is why a run of a dead member does not run again; "" if it does. waits says that
// it waits for a retry: then its owner begins it, even without failover and beside another
// open run of the item.
func (s *State) notAgain(e Entry, waits bool) reason.Code {
	v := s.view
	it := v.item(e.Item)
	for k := range v.Runs {
		if !waits && !v.dead(v.Runs[k].ID) && v.Runs[k].entry(e.Item) != nil {
			return reason.LaterRunBegan
		}
	}
	switch {
	case s.company.shared && e.Param != "": // foreign members would run it with the job's parameter
		return reason.ParamWithForeign
	case !waits && !v.Config.Failover:
		return reason.ServerGoneFailoverOff
	case e.Item >= v.total():
		return reason.ServerGoneItemGone
	case it.Disabled:
		return reason.ServerGoneItemDisabled
	case s.later(e):
		return reason.ServerGoneNextInstant
	case v.pending(e.Item) != nil || !waits && it.taken():
		return reason.ServerGoneAnotherRun
	}
	return ""
}

// take begins pending runs in the free slots. Beside foreign members, only the first in the
// failover latch takes.
func take(s *facts) Mutation {
	m := s.taking()
	if m == nil {
		return nil
	}
	if !s.company.shared {
		// A foreign member that comes meanwhile makes a run pending again if the member that
		// has taken it dies. The node is then as it was, but that member's record is not.
		if !s.config().OnlyOurs {
			m.Check = s.others()
		}
		return *m
	}
	place, first := s.place(FailoverLatch)
	switch {
	case first:
		m.Place, m.Check = place, s.others()
		return *m
	case place == "":
		return Contend{Latch: FailoverLatch, Token: s.o.Contender}
	}
	return nil
}

// taking returns the transaction that takes all pending runs for which the member has slots
// and room; nil if there are none. It leaves out runs without instant of foreign members
// (see reclaimForeign), retries, which wait for the item's owner, and runs of items that are
// disabled, gone, running, taken, or past the run's instant.
func (s *facts) taking() *Take {
	v := s.view
	if !s.works() || !v.Config.Failover || s.paused() || len(v.Pending) == 0 || !v.Assignment.Exists {
		return nil
	}
	m := &Take{Self: s.self, Own: s.next(s.own()), Monitor: v.Config.MonitorExecution, Next: s.schedule.next}
	nodes := 2 // the pending run is deleted, the failover mark created
	if m.Monitor {
		nodes++
	}
	r := s.opening(&m.Own)
	for _, p := range v.Pending {
		it := v.item(p.Item)
		if s.o.Slots > 0 && len(m.Own.Open) >= s.o.Slots {
			break
		}
		if p.Foreign || v.waits(&p) || it.Failover != "" || it.Marked() || it.Disabled || p.Item >= v.total() || s.busy(p.Item) || s.openElsewhere(p.Item) || s.later(p.Entry) || !it.Exists {
			continue
		}
		row := Row{Entry: p.Entry, State: TakenOver, Why: reason.Of(reason.ServerGone), Ended: s.now, By: p.Dead}
		e := p.Entry
		e.Cause, e.Begun = Failover, s.now
		e.Attempt++
		w := r.weight.begins(e, []Row{row})
		if !r.takeWith(nodes, w) {
			s.overfull(r, &m.Own, w)
			break
		}
		m.Own.row(row)
		m.Own.Open = append(m.Own.Open, e)
		m.Own.Begun = set(m.Own.Begun, e.Item, e.Begun)
		if e.Trigger == "" && s.view.last(e.Item) <= e.Instant { // triggers account for no instant
			m.Own.Last = set(m.Own.Last, e.Item, e.Instant)
		}
		m.Items = append(m.Items, p.Item)
	}
	if len(m.Items) == 0 {
		return nil
	}
	slices.SortFunc(m.Own.Open, func(x, y Entry) int { return x.Item - y.Item })
	return m
}

// unidentified returns a run for a pending run that a foreign member wrote, and of which
// nobody knows the instant. Its id is j and the revision that wrote it.
func (s *State) unidentified(p *Pending) Entry {
	return Entry{Item: p.Item, Instant: s.now, Trigger: fmt.Sprintf("j%d", p.Modified), Cause: Failover, Attempt: 1}
}

// drop deletes pending runs that no member may take, each with a row.
func drop(s *facts) Mutation {
	v := s.view
	if len(v.Pending) == 0 || !s.company.reclaims || s.config() == nil || s.session.health != Trusted {
		return nil
	}
	m := Drop{Self: s.self, Own: s.next(s.own())}
	r := s.ending(&m.Own)
	for _, p := range v.Pending {
		row := s.dropped(&p)
		if row.State == "" {
			continue
		}
		if !r.takeWith(1, r.weight.ends(row)) {
			break
		}
		m.Items = append(m.Items, p.Item)
		s.closes(&m.Own, row)
	}
	if len(m.Items) == 0 {
		return nil
	}
	if s.company.shared || !s.config().OnlyOurs { // as for a take
		m.Check = s.others()
	}
	return m
}

// dropped is the row of a pending run that no member may take; it has no state if one may,
// or may still. A foreign member's node without a run gets takeDue's time first.
func (s *facts) dropped(p *Pending) Row {
	v := s.view
	switch {
	case p.Foreign && s.company.shared && s.wasIdle(p) && s.takeDue(p):
		return Row{Entry: s.unidentified(p), State: Skipped, Why: reason.Of(reason.ForeignRunHadEnded), Ended: s.now}
	case p.Foreign && s.company.shared && !v.Config.Failover && s.takeDue(p):
		// A foreign member would leave the run until failover is on again, and take it
		// then.
		return Row{Entry: s.unidentified(p), State: Skipped, Why: reason.Of(reason.ForeignFailoverOff), Ended: s.now}
	case p.Foreign && s.company.shared:
		return Row{}
	case p.Foreign:
		// The members that knew the run are gone.
		return Row{Entry: s.unidentified(p), State: Lost, Why: reason.Of(reason.ForeignLeftUnknown), Ended: s.now}
	}
	var why reason.Code
	waits := v.waits(p)
	switch {
	case s.company.shared && p.Entry.Param != "":
		why = reason.ParamWithForeign
	case !waits && !v.Config.Failover:
		why = reason.FailoverOff
	case p.Item >= v.total():
		why = reason.ItemGone
	case v.item(p.Item).Disabled:
		why = reason.ItemDisabled
	case s.later(p.Entry):
		why = before(waits)
	default: // a member may take it
		return Row{}
	}
	return Row{Entry: p.Entry, State: Interrupted, Why: reason.Of(why), Ended: s.now, By: p.Dead}
}

// before is why a pending run is given up when the next instant begins.
func before(waits bool) reason.Code {
	if waits {
		return reason.NextInstantBeforeRetry
	}
	return reason.NextInstantBeforeTake
}
