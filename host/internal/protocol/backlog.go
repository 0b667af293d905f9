package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// backlog is what this member knows of instants that did not begin when they came.
type backlog struct {
	due     []due           // instants that came while their item ran, ascending by item
	excuses []reason.Reason // by item: why its instants did not begin
	away    away
	gone    []gone // by item
	catchUp catchUp
}

// due is the newest instant that came while its item ran.
type due struct {
	item  int
	at    int64
	cause Cause
}

// dropSettled forgets what the backlog has of items that have moved away, and the instants
// that came during a run and are accounted for by now.
func (s *facts) dropSettled() {
	settled := func(d due) bool { return !s.mine(d.item) || s.passed(d.item, d.at) }
	if slices.ContainsFunc(s.newBacklog().due, settled) {
		b := s.changeBacklog()
		b.due = slices.DeleteFunc(b.due, settled)
	}
	for i := range s.newBacklog().excuses {
		if !s.mine(i) {
			s.unexcuse(i)
		}
	}
}

// setDue keeps an instant that came while its item ran, unless there is a newer one.
func (s *facts) setDue(d due) {
	all := s.newBacklog().due
	k, found := slices.BinarySearchFunc(all, d.item, func(d due, i int) int { return d.item - i })
	switch {
	case !found:
		b := s.changeBacklog()
		b.due = slices.Insert(b.due, k, d)
	case d.at > all[k].at:
		s.changeBacklog().due[k] = d
	}
}

// clone copies the lists that rules change. No rule changes gone and the instants to catch
// up.
func (b *backlog) clone() backlog {
	n := *b
	n.due, n.excuses = slices.Clone(b.due), slices.Clone(b.excuses)
	return n
}

// excuse remembers why an instant of the item did not begin, for the gap row of the next
// Begin. The first reason counts.
func (b *backlog) excuse(i int, why reason.Reason) {
	for len(b.excuses) <= i {
		b.excuses = append(b.excuses, reason.Reason{})
	}
	if b.excuses[i].None() {
		b.excuses[i] = why
	}
}

// excuseAll remembers, for each own item that the due instant is still to begin, why it does
// not begin at once.
func (b *backlog) excuseAll(s *State, why reason.Code) {
	if s.schedule.tick.At == 0 || s.own() == nil {
		return
	}
	for i := range s.view.total() {
		if s.mine(i) && !s.passed(i, s.schedule.tick.At) {
			b.excuse(i, reason.Of(why))
		}
	}
}

// unexcuse forgets the item's reason, since a row has it, or none is needed any more.
func (b *backlog) unexcuse(i int) {
	if i < len(b.excuses) {
		b.excuses[i] = reason.Reason{}
	}
}

// excused reports whether a reason is remembered for the item.
func (b *backlog) excused(i int) bool { return i < len(b.excuses) && !b.excuses[i].None() }

// excuse remembers why an instant of the item did not begin, unless a reason is remembered
// already.
func (s *facts) excuse(i int, why reason.Code) { s.excuseBy(i, reason.Of(why)) }

// excuseBy is excuse for a reason with details.
func (s *facts) excuseBy(i int, why reason.Reason) {
	if !s.newBacklog().excused(i) {
		s.changeBacklog().excuse(i, why)
	}
}

// unexcuse forgets the item's reason. It copies the backlog only if there is one to forget.
func (s *facts) unexcuse(i int) {
	if s.newBacklog().excused(i) {
		s.changeBacklog().unexcuse(i)
	}
}

// whyOf is why instants of an own item, up to t, did not begin: the reason that this server
// noted when they came, or else one that the view still shows.
func (s *facts) whyOf(i int, t int64) reason.Reason {
	if b := s.newBacklog(); b.excused(i) {
		return b.excuses[i]
	}
	return s.whyNoServer(i, t)
}

// whyNoServer is why no server began instants of the item up to t, as far as this server
// knows: from the view, from its own absence, or from a dead owner that it has seen. The
// first instant of the gap is the one after the newest accounted one.
func (s *State) whyNoServer(i int, t int64) reason.Reason {
	switch {
	case s.view.Pause.Since != 0 && s.view.cameInPause(t): // of unknown beginning, it would be the reason for all
		return s.view.Pause.Reason()
	case s.accounted(i) < s.backlog.away.until:
		return reason.Of(s.backlog.away.why)
	case i < len(s.backlog.gone) && s.accounted(i) < s.backlog.gone[i].until && s.accounted(i) >= s.backlog.catchUp.passed: // this server was there then
		return reason.Of(reason.NotBegunOwnerGone, string(s.backlog.gone[i].by))
	}
	return reason.Of(reason.NotBegun)
}

// newBacklog is the backlog as the decision leaves it so far: the changed copy, or else the
// State's.
func (s *facts) newBacklog() *backlog {
	if s.Backlog != nil {
		return s.Backlog
	}
	return &s.backlog
}

// changeBacklog is newBacklog as a copy that the rule may change.
func (s *facts) changeBacklog() *backlog {
	if s.Backlog == nil {
		b := s.backlog.clone()
		s.Backlog = &b
	}
	return s.Backlog
}
