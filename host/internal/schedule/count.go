package schedule

import (
	"fmt"
	"time"
)

// FiresAfter reports whether s has any instant strictly after t.
func FiresAfter(s Schedule, t time.Time) bool { return !s.Next(t).IsZero() }

// Over reports whether s had instants, but has none after t. A valid schedule can
// be over by the time its file is read again.
func Over(s Schedule, t time.Time) bool {
	return !FiresAfter(s, t) && FiresAfter(s, time.Unix(0, 0))
}

// WhyNever returns the reason why s has no instant after t, or "" if it has one.
func WhyNever(s Schedule, t time.Time) string {
	if FiresAfter(s, t) {
		return ""
	}
	if plain := Plain(s); plain != s && FiresAfter(plain, t) {
		return "none of its days is left by except"
	}
	var f *fields
	switch s := Plain(s).(type) {
	case *Quartz:
		f = &s.f
	case *Unix:
		f = &s.f
	default:
		return "it has no further instant"
	}
	if f.never != "" {
		return f.never
	}
	// The same schedule, with all years listed.
	anyYear := *f
	for y := firstYear; y <= int(anyYear.lastYear); y++ {
		anyYear.addYear(y)
	}
	// A search from long ago distinguishes a day that never exists from years that
	// have passed.
	if _, ok := anyYear.next(time.UTC, 0); !ok {
		return "none of its months has that day"
	}
	if !FiresAfter(s, time.Unix(-1, 0)) {
		return "none of its years has that day"
	}
	return fmt.Sprintf("its last instant has passed (no schedule goes beyond %d)", f.lastYear)
}

// Count counts the instants of s in (after, upTo], up to limit, and returns the
// first and the last of them. The last one is right even if there are more than
// limit, so the ends of a gap of any length are known. There is one exception:
// where a schedule skips a day because of a clock change, as Quartz does, the last
// one may be an instant that fires only if the search begins within that day.
func Count(s Schedule, after, upTo time.Time, limit int) (n int, first, last time.Time) {
	if limit <= 0 {
		return 0, time.Time{}, time.Time{}
	}
	first = within(s, after, upTo)
	if first.IsZero() {
		return 0, time.Time{}, time.Time{}
	}
	last = first
	for n = 1; n < limit; n++ {
		next := within(s, last, upTo)
		if next.IsZero() {
			return n, first, last
		}
		last = next
	}
	return n, first, latest(s, last, upTo)
}

// within is Next limited to (after, upTo]. It also ends a schedule whose Next does not
// advance; otherwise that would loop forever.
func within(s Schedule, after, upTo time.Time) time.Time {
	next := s.Next(after)
	if next.IsZero() || next.After(upTo) || !next.After(after) {
		return time.Time{}
	}
	return next
}

// latest returns the last instant of s that is not after upTo; at is one of them.
// It calls Next about thirty times, however many instants lie between.
func latest(s Schedule, at, upTo time.Time) time.Time {
	next := within(s, at, upTo)
	if next.IsZero() {
		return at
	}
	// There is an instant in (low, upTo], and none in (high, upTo].
	low, high := at, upTo
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2)
		if later := within(s, middle, upTo); later.IsZero() {
			high = middle
		} else {
			low, next = middle, later
		}
	}
	for {
		later := within(s, next, upTo)
		if later.IsZero() {
			return next
		}
		next = later
	}
}

// Newest returns the newest instants of s in (after, upTo], at most most of them,
// ascending. Next only searches forward, so Newest tries ever longer periods before
// upTo: its cost does not grow with the length of the gap.
func Newest(s Schedule, after, upTo time.Time, most int) []time.Time {
	for back := time.Minute; ; back *= 4 {
		from := upTo.Add(-back)
		whole := !from.After(after)
		if whole {
			from = after
		}
		var all []time.Time
		for t := within(s, from, upTo); !t.IsZero(); t = within(s, t, upTo) {
			all = append(all, t)
		}
		if whole || len(all) >= most {
			return all[max(0, len(all)-most):]
		}
	}
}
