package schedule

import (
	"fmt"
	"time"
)

// ClockChanges describes what the changes of the zone's clocks do to the schedule
// in the year after from, where they drop more than one fire among many: a day
// without its only fire, or a period without any. For most schedules the result is
// empty.
func (q *Quartz) ClockChanges(from time.Time) []string {
	if q.f.never != "" {
		return nil
	}
	var warnings []string
	until := from.AddDate(1, 0, 0).Unix()
	for before := spanAt(q.loc, from.Unix()); before.end < until; {
		after := spanAt(q.loc, before.end)
		if after.end <= before.end {
			break // no zone does that; the check makes sure that the loop ends
		}
		warning := q.setBack(before, after)
		if after.offset > before.offset {
			warning = q.setForward(before, after)
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
		before = after
	}
	return warnings
}

// setForward returns the warning for a change that leaves out a period of the day; "" if it
// drops no fire that matters. before and after are the spans beside the change.
func (q *Quartz) setForward(before, after span) string {
	const day = "Mon 2006-01-02"
	change := before.end
	// As if the clocks had not changed: the first listed time in the left-out
	// period or after it, and the first one after it.
	left, ok := q.f.next(time.UTC, change+before.offset)
	if !ok {
		return ""
	}
	behind, ok := q.f.next(time.UTC, change+after.offset)
	// What Quartz does at a change depends on where its search begins, which is the
	// fire before.
	start := time.Unix(change-2*daySeconds, 0)
	if _, _, last := Count(q, start, time.Unix(change-1, 0), 1); !last.IsZero() {
		start = last
	}
	next, fires := q.f.next(q.loc, start.Unix()+1)
	wall := time.Unix(left, 0).UTC()
	// Quartz misses the first fire after the period, although clocks show its time.
	if ok && behind-after.offset < change+daySeconds && (!fires || next > behind-after.offset) {
		again := "never again"
		if fires {
			again = "not before " + time.Unix(next, 0).In(q.loc).Format(day+" 15:04")
		}
		return fmt.Sprintf("after %s, when clocks are set forward, it fires %s", time.Unix(change-1, 0).In(q.loc).Format(day+" 15:04"), again)
	}
	// If the day has another fire, or the first listed time is not in the period, there is
	// nothing to warn of.
	midnight := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, q.loc)
	first := q.Next(midnight.Add(-time.Second))
	if left >= change+after.offset || !first.IsZero() && first.Before(midnight.AddDate(0, 0, 1)) {
		return ""
	}
	return fmt.Sprintf("on %s it does not fire, because clocks are set forward over %s", wall.Format(day), wall.Format("15:04"))
}

// setBack returns the warning for a change after which clocks show a period again; "" if
// there is none. The fires in that period come in the second pass; that deserves a warning
// only if the schedule also fires in the period before, and right after the change.
func (q *Quartz) setBack(before, after span) string {
	change, length := before.end, before.offset-after.offset
	if length <= 0 || !q.within(change-2*length, change-length) || !q.within(change, change+length) {
		return ""
	}
	first := time.Unix(change-length, 0).In(q.loc)
	return fmt.Sprintf("on %s, when clocks are set back, it does not fire for %v from %s on, until they show that time again",
		first.Format("Mon 2006-01-02"), time.Duration(length)*time.Second, first.Format("15:04 -07:00"))
}

// within reports whether there is a fire in [from, to).
func (q *Quartz) within(from, to int64) bool {
	at, ok := q.f.next(q.loc, from)
	return ok && at < to
}
