package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// backlog are instants that did not begin when they came.
type backlog struct {
	due     []due           // instants that came while their item ran, ascending by item
	excuses []reason.Reason // by item: why its instants were not begun
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

// dropSettled forgets instants that no run here can compensate any more.
func (s *facts) dropSettled() {
	settled := func(d due) bool { return !s.mine(d.item) || s.passed(d.item, d.at) }
	if slices.ContainsFunc(s.late().due, settled) {
		b := s.changeLate()
		b.due = slices.DeleteFunc(b.due, settled)
	}
	for i := range s.late().excuses {
		if !s.mine(i) {
			s.unexcuse(i)
		}
	}
}

// setDue keeps an instant that came while its item ran, unless there is a newer one.
func (s *facts) setDue(d due) {
	all := s.late().due
	k, found := slices.BinarySearchFunc(all, d.item, func(d due, i int) int { return d.item - i })
	switch {
	case !found:
		b := s.changeLate()
		b.due = slices.Insert(b.due, k, d)
	case d.at > all[k].at:
		s.changeLate().due[k] = d
	}
}

func (b *backlog) clone() backlog {
	n := *b
	n.due, n.excuses = slices.Clone(b.due), slices.Clone(b.excuses)
	return n
}

// excuse remembers why an instant of the item was not begun, for the gap row that the
// next Begin writes.
func (b *backlog) excuse(i int, why reason.Reason) {
	for len(b.excuses) <= i {
		b.excuses = append(b.excuses, reason.Reason{})
	}
	if b.excuses[i].None() {
		b.excuses[i] = why
	}
}

// excuseAll does so for each item to which the due instant belongs.
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

func (b *backlog) unexcuse(i int) {
	if i < len(b.excuses) {
		b.excuses[i] = reason.Reason{}
	}
}

func (b *backlog) excused(i int) bool { return i < len(b.excuses) && !b.excuses[i].None() }

// excuse remembers why an instant of the item was not begun, if no reason is remembered
// yet.
func (s *facts) excuse(i int, why reason.Code) { s.excuseBy(i, reason.Of(why)) }

func (s *facts) excuseBy(i int, why reason.Reason) {
	if !s.late().excused(i) {
		s.changeLate().excuse(i, why)
	}
}

func (s *facts) unexcuse(i int) {
	if s.late().excused(i) {
		s.changeLate().unexcuse(i)
	}
}

// whyOf is why instants of an own item, the newest of which is t, did not begin: the reason
// that this server noted when they came, or else one that the view still shows.
func (s *facts) whyOf(i int, t int64) reason.Reason {
	if b := s.late(); b.excused(i) {
		return b.excuses[i]
	}
	return s.whyNobody(i, t)
}

// whyNobody is why no server began instants of the item, the newest of which is t, as far
// as this one knows. It also knows of a pause that only others saw them come in.
func (s *State) whyNobody(i int, t int64) reason.Reason {
	switch {
	case s.view.Pause.Since != 0 && s.view.cameInPause(t):
		return s.view.Pause.Reason()
	case s.accounted(i) < s.backlog.away.until:
		return reason.Of(s.backlog.away.why)
	case i < len(s.backlog.gone) && s.accounted(i) < s.backlog.gone[i].until && s.accounted(i) >= s.backlog.catchUp.passed: // this server was there
		return reason.Of(reason.NotBegunOwnerGone, string(s.backlog.gone[i].by))
	}
	return reason.Of(reason.NotBegun)
}

// late is the backlog after the decision.
func (s *facts) late() *backlog {
	if s.Backlog != nil {
		return s.Backlog
	}
	return &s.backlog
}

// changeLate is the backlog for changes.
func (s *facts) changeLate() *backlog {
	if s.Backlog == nil {
		b := s.backlog.clone()
		s.Backlog = &b
	}
	return s.Backlog
}
