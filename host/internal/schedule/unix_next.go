package schedule

import "time"

// Unix is a parsed Unix cron expression bound to a time zone.
type Unix struct {
	text string
	loc  *time.Location
	f    fields
	// fixed says that neither the minute nor the hour begins with a star. Such a schedule
	// lists times of day; any other lists intervals.
	fixed bool
}

// Cron takes a larger change for the correction of a wrong clock, and then follows the
// new time. The two limits differ because cron compares the minute in which it wakes up
// with the one before.
const (
	mostForward = 3*3600 - 60
	mostBack    = 3 * 3600
)

// String returns the text that was parsed.
func (u *Unix) String() string { return u.text }

// Next returns the first instant strictly after t that the schedule names, in the
// schedule's zone, or the zero time if there is none until the end of LastYear. Its
// work is bounded.
//
// At a clock change it behaves like Debian's cron. If the change skips a listed time, a
// schedule of times of day fires once, at the change. When clocks show a period again,
// such a schedule does not fire in the second pass. Any other schedule follows the
// clocks.
func (u *Unix) Next(t time.Time) time.Time {
	at, ok := u.next(t.Unix() + 1)
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).In(u.loc)
}

// next returns the first instant that is not before from; false if there is none. It
// searches on local dates in one span after the other, until the result lies within its
// span.
func (u *Unix) next(from int64) (int64, bool) {
	if u.f.never != "" || from > beyondAll {
		return 0, false
	}
	from = max(from, -2*daySeconds) // no year before 1970 is ever listed
	// A change at this very instant ends the span before.
	for here := spanAt(u.loc, from-1); ; {
		wall, ok := u.f.civilNext(max(u.unseen(here, from+here.offset), 0))
		if !ok {
			return 0, false
		}
		if at := wall - here.offset; at < here.end {
			return at, true
		}
		after := spanAt(u.loc, here.end)
		if u.catchesUp(here, after) && wall < after.start+after.offset {
			return after.start, true
		}
		from = here.end
		if after.offset >= here.offset { // otherwise clocks show again the times that were skipped here
			// No listed time comes before wall, so years without one are skipped.
			from = max(from, wall-here.offset-2*margin)
		}
		here = after
		if from >= after.end {
			here = spanAt(u.loc, from)
		}
	}
}

// unseen returns the first local time of a span, not before wall, that counts. For a
// schedule of fixed times, local times that clocks have shown before they were set back do
// not count. A change of more than mostBack does not matter, nor does one that is long
// past.
func (u *Unix) unseen(s span, wall int64) int64 {
	if !u.fixed || s.start == distantPast || wall >= s.start+s.offset+mostBack {
		return wall
	}
	before := spanAt(u.loc, s.start-1)
	if back := before.offset - s.offset; back <= 0 || back > mostBack {
		return wall
	}
	return max(wall, s.start+before.offset)
}

// catchesUp reports whether a schedule whose listed times fall into the period that is
// skipped between two spans fires at the change.
func (u *Unix) catchesUp(before, after span) bool {
	forward := after.offset - before.offset
	return u.fixed && forward > 0 && forward <= mostForward
}
