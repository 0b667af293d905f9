package protocol

import (
	"cmp"
	"slices"
)

// If the registry's clock was ahead, items are accounted for up to an instant in the
// future. Earlier instants that have begun must not begin again; the others should. A clock
// that jumps ahead leaves a span in which no instant began, and that tells the two apart.

const (
	// shortestSpan, in ms, is the shortest span that is kept.
	shortestSpan = 120_000
	// spanMargin before the end of a span does not count, since another member may have
	// just begun an instant there.
	spanMargin = 60_000
	// keptSpans is how many of the newest spans are kept.
	keptSpans = 4
)

// Idle tells, after a clock was ahead, which instants never began.
type Idle struct {
	Spans   []Span  // ascending; no item of the job began an instant within a span
	Resumed []int64 // by item: the newest instant within a span that began after the clock had been set back; 0: none
	// Unattended is the time in ms at which a member joined that found no server there; 0:
	// unknown.
	Unattended int64
}

// Span is the time between two instants, without these.
type Span struct{ From, To int64 }

// passed reports whether the item's owner need not begin the instant: it has begun, may
// have, or has a row. If a clock was ahead when the item was accounted for, an instant before
// that has not begun if it is in a span without begins and none was resumed since.
func (s *State) passed(i int, t int64) bool {
	last := s.accounted(i)
	return t <= last && !(s.distant(last) && s.view.idle(t) && t > s.view.resumed(i))
}

// idle reports whether no item of the job began the instant before its clock was set back.
func (v *View) idle(t int64) bool {
	if v.Assignment.within(t) {
		return true
	}
	for k := range v.Runs {
		if v.Runs[k].within(t) {
			return true
		}
	}
	return false
}

// within reports whether the instant is in one of the spans in which no item began, and not
// near its end, where another member may just have begun one.
func (d *Idle) within(t int64) bool {
	return slices.ContainsFunc(d.Spans, func(s Span) bool { return s.From < t && t < s.To-spanMargin })
}

// idle adds a span, unless it is short, and keeps the newest ones.
func (d *Idle) idle(s Span) {
	if s.To-s.From < shortestSpan || slices.Contains(d.Spans, s) {
		return
	}
	d.Spans = append(d.Spans, s)
	slices.SortFunc(d.Spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From)) })
	d.Spans = d.Spans[max(0, len(d.Spans)-keptSpans):]
}

// newest is the newest instant of any item that is accounted for.
func (v *View) newest() int64 {
	t := newestOf(v.Assignment.Last)
	for k := range v.Runs {
		t = max(t, newestOf(v.Runs[k].Last))
	}
	return t
}

func newestOf(all []int64) int64 {
	t := int64(0)
	for _, o := range all {
		t = max(t, o)
	}
	return t
}
