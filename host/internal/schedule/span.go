package schedule

import "time"

// A span is a stretch of time in which a zone keeps one offset from UTC.
type span struct {
	start, end int64 // instants in Unix seconds, end not included
	offset     int64 // seconds east of UTC
}

const (
	distantPast   = -1 << 60
	distantFuture = 1 << 60
	// margin is longer than any change that a zone ever made to its clocks (a whole
	// day, across the date line), plus an hour for the step that Quartz adds.
	margin = 26 * 3600
)

// spanAt returns the span around an instant. It looks past bounds near the
// instant that change only the zone's name, or nothing: package time ends its
// spans with the year where a zone's rules, not its table, apply.
func spanAt(loc *time.Location, at int64) span {
	s := zoneBounds(loc, at)
	if at+margin >= s.end {
		if next := zoneBounds(loc, s.end); next.offset == s.offset {
			s.end = next.end
		}
	}
	if at-margin < s.start && s.start > distantPast {
		if before := zoneBounds(loc, s.start-1); before.offset == s.offset {
			s.start = before.start
		}
	}
	return s
}

// zoneBounds returns the span around an instant as package time has it. At its ends the
// offset need not change.
func zoneBounds(loc *time.Location, at int64) span {
	t := time.Unix(at, 0).In(loc)
	_, offset := t.Zone()
	s := span{distantPast, distantFuture, int64(offset)}
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		s.start = from.Unix()
	}
	if !to.IsZero() {
		s.end = to.Unix()
	}
	if s.end <= at {
		// On 31 December of a leap year package time returns the end of the 365th day;
		// the span lasts at least until the year's end in UTC.
		s.end = (at/daySeconds + 1) * daySeconds
	}
	return s
}

// calm reports whether no clock change is so near to the instant that it could
// touch the local times around it.
func (s span) calm(at int64) bool {
	return at-margin >= s.start && at+margin < s.end
}

// instantOf returns the instant at which clocks show the local time wall, and the local
// time that they really show then. If they show it twice, it returns the second instant. If
// they leave it out, it returns the instant that clocks without the change would give, and
// shown is later by the length of the change. near is a span that probably has the instant;
// instantOf sets it to the one that has.
func instantOf(loc *time.Location, near *span, wall int64) (at, shown int64) {
	if at := wall - near.offset; near.calm(at) {
		return at, wall
	}
	// Look at all spans that may show the time, from one that is surely before it. The last
	// that does counts.
	s := spanAt(loc, wall-near.offset-2*margin)
	found := int64(distantPast)
	for {
		at := wall - s.offset
		if at >= s.start && at < s.end {
			found = at
			*near = s
		}
		if s.end > wall+margin {
			break
		}
		next := spanAt(loc, s.end)
		if found == distantPast && at >= s.end && wall-next.offset < s.end {
			*near = next
			return at, at + next.offset // in the gap between the two
		}
		s = next
	}
	return found, wall
}
