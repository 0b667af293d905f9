package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// backlog are instants that did not begin when they came.
type backlog struct {
	due     []due         // those that came while their item ran, ascending by item
	excuses []reason.Code // by item: why its instants were not begun
	away    away
	catchUp catchUp
}

// due is the newest instant that came while its item ran.
type due struct {
	item  int
	at    int64
	cause Cause
}

func (b *backlog) setDue(d due) {
	k, ok := slices.BinarySearchFunc(b.due, d.item, func(d due, i int) int { return d.item - i })
	if ok {
		if d.at > b.due[k].at {
			b.due[k] = d
		}
		return
	}
	b.due = slices.Insert(b.due, k, d)
}

// excuse remembers why an instant of the item was not begun; the gap row that
// the next Begin writes says so.
func (b *backlog) excuse(i int, why reason.Code) {
	for len(b.excuses) <= i {
		b.excuses = append(b.excuses, "")
	}
	if b.excuses[i] == "" {
		b.excuses[i] = why
	}
}

// excuseAll does so for each item to which the instant that is due belongs.
func (s *State) excuseAll(why reason.Code) {
	if s.schedule.tick.At == 0 || s.own() == nil {
		return
	}
	for i := range s.view.total() {
		if s.mine(i) && !s.passed(i, s.schedule.tick.At) {
			s.backlog.excuse(i, why)
		}
	}
}

func (b *backlog) unexcuse(i int) {
	if i < len(b.excuses) {
		b.excuses[i] = ""
	}
}

func (s *State) whyOf(i int) reason.Code {
	if i < len(s.backlog.excuses) && s.backlog.excuses[i] != "" {
		return s.backlog.excuses[i]
	}
	return s.whyNobody(i)
}

// whyNobody is why no server began an instant, as far as this one knows.
func (s *State) whyNobody(i int) reason.Code {
	if s.accounted(i) < s.backlog.away.until {
		return s.backlog.away.why
	}
	return reason.NotBegun
}
