package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// begin opens runs of own items in one transaction: for the instant that is due, for
// instants that came while the item ran, and for requests of operators.
func begin(s *facts) Mutation {
	s.note(recordFits{})
	if !s.works() {
		return s.unable()
	}
	wait := s.reshardWait()
	s.note(wait)
	switch { // the instant stays due meanwhile, but its row, if it gets one, has the reason
	case s.waits(wait.from), s.company.unsettled:
		s.changeBacklog().excuseAll(s.State, reason.ReshardAwaited)
		return nil
	case s.o.MaxUnstored > 0 && len(s.history.unstored(s.own())) >= s.o.MaxUnstored:
		s.changeBacklog().excuseAll(s.State, reason.HistoryUnwritable)
		return nil
	}
	if s.recalls() { // earlier instants, which are not known yet, go first
		return nil
	}
	s.dropSettled()
	// An item begins at most one run, so the order of the parts decides which.
	b := newBeginning(s)
	b.request()
	b.catchUp()
	b.scheduled()
	b.compensations()
	b.after()
	b.triggers()
	b.retries()
	b.moved()
	b.backfills()
	if m := b.mutation(); m != nil {
		s.recordFull = 0 // there is room for some
		return *m
	}
	if !b.m.More { // no item is left that could begin the due instant now
		s.note(tickAnswered{})
	}
	return nil
}

// unable handles instants and requests that come while the member must not begin anything.
// A member that leaves, or whose server an operator has disabled, answers them without a
// run. Otherwise the cause may pass soon, so they stay.
func (s *facts) unable() Mutation {
	if s.own() == nil || s.config() == nil && !s.session.leaving {
		return nil
	}
	s.changeBacklog().excuseAll(s.State, s.inability())
	if !s.session.leaving && !s.disabledHere() {
		return nil
	}
	s.keepDue()
	s.note(tickAnswered{})
	if s.session.health != Trusted || !s.triggered() || s.foreignBlocker() != "" && !s.session.leaving {
		return nil
	}
	// Without an answer the request would vanish with the member, or run when the server is
	// enabled again, however late that is.
	b := newBeginning(s)
	b.decline(s.inability())
	return b.m
}

// keepDue keeps an instant that comes while an operator pauses only this server, which then
// keeps its items. With misfire the items compensate it when that pause ends, as
// ElasticJob's do.
func (s *facts) keepDue() {
	t, server := s.schedule.tick.At, s.view.server(s.self.IP())
	if t == 0 || s.session.leaving || server == nil || !server.KeepsItems || !s.config().Misfire || s.view.PausedAt(t) {
		return
	}
	for i := range s.view.total() {
		if s.mine(i) && !s.passed(i, t) && !s.view.item(i).Disabled {
			s.setDue(due{i, t, Misfired})
		}
	}
}

// scheduled begins the instant that is due. An item that does not begin it has an excuse
// afterwards: the reason for the row of its gap.
func (b *beginning) scheduled() {
	s := b.s
	t := s.schedule.tick.At
	if t == 0 {
		return
	}
	for i := range s.view.total() {
		if !s.mine(i) || s.passed(i, t) || b.givesUpMissed(i) {
			continue
		}
		switch {
		case s.view.PausedAt(t):
			s.excuseBy(i, s.view.Pause.Reason())
		case s.pausedByCron():
			s.excuse(i, reason.ScheduleUnreadable)
		case s.view.item(i).Disabled:
			s.excuse(i, reason.ItemDisabled)
		case s.busy(i), s.oldestMissed(i) != 0:
			s.overlap(i, t)
		default:
			b.open(i, t, Scheduled)
		}
	}
}

// overlap handles an instant that comes while its item runs or catches up, by the job's
// policy. With none of the three, it is left out.
func (s *facts) overlap(i int, t int64) {
	s.excuse(i, reason.StillRunning)
	switch {
	case s.config().Misfire:
		s.setDue(due{i, t, Misfired})
	case s.o.Queue:
		s.setDue(due{i, t, Scheduled})
	case s.o.Replace:
		s.setDue(due{i, t, Scheduled})
		s.note(stops{i, reason.ReplacedByNextRun})
	}
}

// compensations begins, once, the newest instant that came during a run. If the item moved,
// its new owner finds the misfire mark. Until a reshard is over, none begins: runs that
// follow one another would keep it waiting.
func (b *beginning) compensations() {
	s := b.s
	if s.reshard.since != 0 || s.paused() || s.pausedByCron() {
		return
	}
	for _, d := range s.newBacklog().due {
		if s.mine(d.item) && !s.busy(d.item) && !s.view.cameInPause(d.at) && s.oldestMissed(d.item) == 0 && !s.passed(d.item, d.at) && !s.view.item(d.item).Disabled {
			b.open(d.item, d.at, d.cause)
		}
	}
	for i := range s.view.total() {
		if s.isMisfired(i) && s.mine(i) && !s.busy(i) && s.oldestMissed(i) == 0 && !s.passed(i, s.schedule.latest.At) {
			b.open(i, s.schedule.latest.At, Misfired)
		}
	}
}

// isMisfired reports whether the newest instant came during a run of the item, and the
// owner is to compensate it. Instants of a pause are not compensated, even if the pause was
// seen only later.
func (s *State) isMisfired(i int) bool {
	it, t := s.view.item(i), s.schedule.latest.At
	return it.Misfire && !it.Disabled && s.config().Misfire && t > s.schedule.paused && !s.view.cameInPause(t)
}

// open adds a run to the transaction, with rows of what it overtakes: instants since the
// newest accounted one, a pending run, and a retry. If it cannot begin, the item's excuse
// says why.
func (b *beginning) open(i int, t int64, cause Cause) {
	s := b.s
	if s.busy(i) || b.taken[i] {
		return
	}
	if why := b.blocked(i); why != "" {
		s.excuse(i, why)
		return
	}
	p, waits := s.view.pending(i), s.view.waiting(i) != nil
	// A pending run that waits for a taker gives way only to a later instant, or, if a foreign
	// member wrote it and so its instant is unknown, once foreign members had time to take it.
	if p != nil && !waits && (p.Foreign && !s.takeDue(p) || !p.Foreign && t <= p.Entry.Instant) {
		s.excuse(i, reason.TakeoverAwaited)
		return
	}
	var rows []Row
	var overtaken []int
	if p != nil {
		overtaken = []int{i}
		e := p.Entry
		if p.Foreign {
			e = s.unidentified(p)
		}
		rows = append(rows, Row{Entry: e, State: Interrupted, Why: reason.Of(before(waits)), Ended: s.now, By: p.Dead})
	}
	last := s.accounted(i)
	// There is a gap unless the instant right before t is accounted for, or a catch-up goes on
	// with its next one.
	if last > 0 && last < t && !(s.schedule.latest.At == t && s.schedule.latest.Prev != 0 && last >= s.schedule.latest.Prev) && (cause != CaughtUp || s.leavesOut(last, t)) {
		rows = append(rows, s.schedule.gap(Row{Entry: Entry{Item: i, Instant: t}, After: last, Until: t, State: Missed, Why: s.whyLeftOut(i, t, cause), By: s.self})...)
	}
	rows = append(rows, b.overtaken(i)...)
	e := Entry{Item: i, Instant: t, Cause: cause, Attempt: 1, Begun: s.now}
	if !b.fits(e, rows) {
		s.excuse(i, b.whyNotFits())
		b.m.More = true
		return
	}
	b.m.DeletePending = append(b.m.DeletePending, overtaken...)
	for _, r := range rows {
		s.closes(&b.m.Own, r)
	}
	b.overtake(i)
	if cause != CaughtUp { // after a catch-up, the begin of a later instant needs the excuse
		s.unexcuse(i)
	}
	if t < last { // a clock was ahead when the item was accounted for
		b.m.Own.Resumed = set(b.m.Own.Resumed, i, t)
	} else {
		if cause != CaughtUp { // a catch-up may begin after later instants of other items
			b.idle(t)
		}
		b.m.Own.Last = set(b.m.Own.Last, i, t)
	}
	b.add(e)
}

// nextAttempt opens the next attempt of runs that self-fencing ended, if the session has
// survived and no later instant of the item has come. The run stays open meanwhile, so the
// item does not move.
func nextAttempt(s *facts) Mutation {
	own := s.own()
	if own == nil || s.session.health != Trusted || s.session.leaving {
		return nil
	}
	fenced := func(e Entry) bool {
		g := s.guests.of(e.Item)
		return g != nil && s.attemptDue(g, &e)
	}
	if !slices.ContainsFunc(own.Open, fenced) {
		return nil
	}
	next := s.next(own)
	r := s.ending(&next)
	for k := range next.Open {
		e := &next.Open[k]
		if !fenced(*e) {
			continue
		}
		row, anew := Row{Entry: *e, State: Retried, Why: reason.Of(reason.SessionDoubtful), Ended: s.now, By: s.self}, *e
		anew.Attempt++
		anew.Begun = s.now
		if !r.takeWith(0, r.weight.begins(anew, []Row{row})) {
			break // the others follow in the next transaction
		}
		next.row(row)
		*e = anew
		next.Begun = set(next.Begun, e.Item, e.Begun)
	}
	if r.items == 0 {
		return nil
	}
	return NextAttempt{Self: s.self, Own: next}
}

// attemptDue reports whether self-fencing ended the guest, and the run may begin again: no
// later instant has come, and no operator's setting forbids it.
func (s *State) attemptDue(g *guest, e *Entry) bool {
	return g.ended && g.fenced && g.state == Cancelled && !s.session.leaving && s.schedule.latest.At <= e.Instant &&
		!s.disabledHere() && !s.view.item(e.Item).Disabled && (!s.paused() || e.Trigger != "")
}

// markMisfire marks the items whose newest instant came while they ran, so that their next
// owners see that as well. Only a job with misfire compensates such an instant.
func markMisfire(s *facts) Mutation {
	if s.own() == nil || s.config() == nil || !s.config().Misfire || s.session.leaving || s.foreignBlocker() != "" {
		return nil
	}
	s.overtaken()
	var items []int
	for _, d := range s.newBacklog().due {
		it := s.view.item(d.item)
		if d.cause == Misfired && !s.passed(d.item, d.at) && s.mine(d.item) && s.own().entry(d.item) != nil && it.Exists && !it.Misfire {
			items = append(items, d.item)
		}
	}
	if len(items) == 0 {
		return nil
	}
	return MarkMisfire{Items: s.room().first(items)}
}

// overtaken notes the due instant of running items, since this rule comes before begin, which
// would note it.
func (s *facts) overtaken() {
	if s.schedule.tick.At == 0 || s.view.PausedAt(s.schedule.tick.At) {
		return
	}
	for i := range s.view.total() {
		if s.mine(i) && s.own().entry(i) != nil && !s.passed(i, s.schedule.tick.At) && !s.view.item(i).Disabled {
			s.excuse(i, reason.StillRunning)
			s.setDue(due{i, s.schedule.tick.At, Misfired})
		}
	}
}

// inability is the reason why the member must not begin anything.
func (s *State) inability() reason.Code {
	switch {
	case s.session.barred:
		return reason.ServerNotAllowed
	case s.session.leaving:
		return reason.ShuttingDown
	case s.disabledHere():
		return reason.ServerDisabled
	case s.session.health != Trusted:
		return reason.RegistrySilent
	case s.foreignBlocker() != "":
		return reason.ForeignShares
	case s.skewed():
		return reason.ClockDiffers
	}
	return reason.InstanceRemoved
}
