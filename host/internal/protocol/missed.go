package protocol

import "slices"

// Instants that came while no server was there get their row as soon as a member of ours
// owns the item. The next begin would write it as well, but it may be a day away, and the
// job may have been removed by then.

// seePassed handles the newest instant that had come when the schedule was set. When it is
// set for the first time, this server has not seen that instant come.
func (s *State) seePassed(t int64) {
	first := !s.schedule.dated
	s.schedule.dated = true
	if s.future(t) { // by the registry's clock, only earlier instants have come
		if first { // all instants up to now by the registry's clock
			s.backlog.catchUp.passed = s.dateOf(s.now)
		}
		s.arrive(Tick{At: t}) // only the server's clock has passed it, and the schedule will not report it again
		return
	}
	if first {
		s.backlog.catchUp.passed = max(t, s.changedWhileAway())
	}
	if s.noteInstant(Tick{At: t}) && first {
		s.schedule.unseen = t
	}
}

// changedWhileAway is the moment up to which the former schedule was in force, if this
// server saw the change when it joined; 0 if it saw none. Instants of that schedule have
// passed, and the clock, which follows the new one, reports none of them.
func (s *State) changedWhileAway() int64 {
	n := len(s.schedule.known)
	if n < 2 {
		return 0
	}
	return min(s.schedule.known[n-1].Since-1, s.dateOf(s.now))
}

// missed gives a row to instants of own items that had passed before this server came, and
// that no member began. The next begin accounts for later ones. If the job catches up,
// however, an instant that does not begin here gets its row at once; otherwise it would
// look as if no server had been there. While no other member can have them, items of a
// disabled server count as well. Without catch-up the rows wait while the job is paused, as
// the gap may last. The transaction is a Begin without items, since it must be refused if the
// items have moved.
func missed(s *facts) Mutation {
	// Rows reach up to t; idle says that this server is disabled and still has its items.
	t, idle := s.schedule.unseen, s.o.CatchUp != 0 && s.able() && s.disabledHere()
	if s.o.CatchUp != 0 && s.schedule.tick.At == 0 { // the newest instant is not due any more
		t = max(t, s.schedule.latest.At)
	}
	if idle {
		t = max(t, s.backlog.catchUp.passed)
	}
	if t == 0 || !s.works() && !idle || s.paused() && s.o.CatchUp == 0 || s.waits(s.reshard.waitFrom) || s.future(t) {
		return nil
	}
	if !s.company.ours() {
		s.note(unseenSettled{}) // they may have run the instants; a row says so when an item moves
		return nil
	}
	if s.o.MaxUnstored > 0 && len(s.history.unstored(s.own())) >= s.o.MaxUnstored || !idle && s.recalls() {
		return nil
	}
	m := Begin{Self: s.self, Own: s.next(s.own()), More: s.schedule.tick.At != 0}
	room := s.ending(&m.Own)
	for i := range s.view.total() {
		rows := s.passedOver(i, t)
		if len(rows) == 0 {
			continue
		}
		if !room.takeWith(0, room.weight.passes(i, t, rows)) {
			break // the others follow in the next transaction
		}
		m.Own.rows(rows)
		m.Own.Last = set(m.Own.Last, i, t)
		if s.o.CatchUp != 0 {
			s.unexcuse(i)
		}
	}
	if room.items == 0 {
		return nil
	}
	return m
}

// unseenSettled: another row tells about the instants before this server came.
type unseenSettled struct{}

// keep forgets the newest instant before this server came.
func (unseenSettled) keep(s *State, _ *Plan) { s.schedule.unseen = 0 }

// passedOver returns the rows of an own item for instants up to t that are not accounted
// for; none if another row will tell about them, or the item is new.
func (s *facts) passedOver(i int, t int64) []Row {
	last := s.accounted(i)
	if last == 0 || last >= t || !s.mine(i) || s.reportedOtherwise(i) {
		return nil
	}
	why := s.whyNoServer(i, t)
	if s.o.CatchUp != 0 {
		why = s.whyOf(i, t)
	}
	return s.schedule.gap(Row{Entry: Entry{Item: i, Instant: t}, After: last, Until: t + 1, State: Missed, Why: why, By: s.self})
}

// reportedOtherwise reports whether another transaction will account for the item's instants:
// one that begins the item, compensates or catches up, or ends its pending run. Without
// catch-up, rows of a disabled item wait until it is enabled.
func (s *State) reportedOtherwise(i int) bool {
	if s.o.CatchUp != 0 {
		_, due := slices.BinarySearchFunc(s.backlog.due, i, func(d due, i int) int { return d.item - i })
		return due || s.busy(i) || s.oldestMissed(i) != 0 && !s.disabledHere() || s.isMisfired(i) || s.view.pending(i) != nil
	}
	return s.view.item(i).Disabled || s.isMisfired(i) || s.view.pending(i) != nil
}

// passes returns the weight with rows of instants that an item passes over.
func (w weight) passes(i int, t int64, rows []Row) weight {
	for k := range rows {
		w.row(&rows[k])
	}
	w.last.set(i, t)
	return w
}
