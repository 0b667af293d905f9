package schedule

import (
	"math/bits"
	"time"
)

// maxIterations bounds one search. Searches that find an instant take up to some
// 400 iterations, those that run into the last year some 1,600.
const maxIterations = 20_000

// A step is the result of one iteration.
type step uint8

const (
	again step = iota // a field advanced: iterate again
	found             // the position is a fire
	none              // there is no fire
)

// local is a local date and time of day. Values outside their range
// carry over, as in a lenient calendar.
type local struct {
	year, month, day     int
	hour, minute, second int
}

// seconds returns the local time c in seconds since 1970, independent of the time zone.
func (c local) seconds() int64 {
	days := dayNumber(c.year, c.month, c.day)
	return int64(days)*daySeconds + int64(c.hour*3600+c.minute*60+c.second)
}

// localOf is the inverse of seconds.
func localOf(wall int64) (c local) {
	days := floorDiv(int(wall), daySeconds)
	ofDay := int(wall) - days*daySeconds
	c.year, c.month, c.day = date(days)
	c.hour, c.minute, c.second = ofDay/3600, ofDay/60%60, ofDay%60
	return c
}

// search replays Quartz's search through the fields: second, minute, hour, day,
// month, year. When a field advances, the smaller ones restart and the next
// iteration begins. Each local time on the way is converted to an instant and back:
// that alone decides what a clock change does to the schedule.
type search struct {
	f      *fields
	loc    *time.Location
	near   span
	from   int64 // the first instant that may be returned
	at     int64 // position of the search
	now    local // the local time then
	turned int   // day number to which nearest last turned back
}

// search returns the first instant that is not before from, as Quartz finds it. ok is false
// if the search ends without one, or would never end. near is the span around from.
func (f *fields) search(loc *time.Location, near span, from int64) (int64, bool) {
	s := search{f: f, loc: loc, near: near, from: from, turned: distantPast}
	// The start is converted back as well. That is why nothing fires in the first pass of
	// an hour that clocks show twice.
	s.set(localOf(from + near.offset))
	for range maxIterations {
		switch s.iterate() {
		case found:
			return s.at, true
		case none:
			return 0, false
		case again:
		}
	}
	return 0, false
}

// set moves the search to a local time.
func (s *search) set(c local) {
	var shown int64
	s.at, shown = instantOf(s.loc, &s.near, c.seconds())
	s.now = localOf(shown)
}

// setHour is set for a step to a certain hour. If a gap skips that hour, it moves to the
// next one, with the minute that clocks then show.
func (s *search) setHour(c local) {
	s.set(c)
	if c.hour != 24 && s.now.hour != c.hour { // 24 is midnight of the next day
		next := s.now
		next.hour = c.hour + 1
		s.set(next)
	}
}

// iterate does one iteration. If a listed second, minute or hour is later than the present
// one, it moves there; if none is, it moves to the first one after the next larger field
// has advanced. A step to a second alone goes on with the same iteration.
func (s *search) iterate() step {
	f := s.f
	if s.now.year > int(f.lastYear) {
		return none
	}
	if rest := f.second >> s.now.second; rest == 0 {
		c := s.now
		c.minute++
		c.second = bits.TrailingZeros64(f.second)
		s.set(c)
	} else if rest&1 == 0 {
		c := s.now
		c.second += bits.TrailingZeros64(rest)
		s.set(c)
	}
	c := s.now
	if rest := f.minute >> c.minute; rest&1 == 0 {
		c.second = 0
		if rest == 0 {
			c.hour++
			c.minute = bits.TrailingZeros64(f.minute)
		} else {
			c.minute += bits.TrailingZeros64(rest)
		}
		s.setHour(c)
		return again
	}
	if rest := f.hour >> c.hour; rest&1 == 0 {
		c.minute, c.second = 0, 0
		if rest == 0 {
			c.day++
			c.hour = bits.TrailingZeros32(f.hour)
		} else {
			c.hour += bits.TrailingZeros32(rest)
		}
		s.setHour(c)
		return again
	}
	return s.iterateDay()
}

// iterateDay is the second half of an iteration, for the date, once the time of day fits.
// It moves to the next listed day, month or year, if the present one is not listed.
func (s *search) iterateDay() step {
	f, c := s.f, s.now
	if f.rule == byNear || f.rule == byLastNear {
		if step := s.nearest(); step != found {
			return step
		}
	} else if rest := f.monthDays(c.year, c.month) >> c.day; rest == 0 {
		s.set(local{year: c.year, month: c.month + 1, day: 1})
		return again
	} else if rest&1 == 0 {
		s.set(local{year: c.year, month: c.month, day: c.day + bits.TrailingZeros32(rest)})
		return again
	}
	if rest := f.month >> c.month; rest == 0 {
		s.set(local{year: c.year + 1, month: bits.TrailingZeros16(f.month), day: 1})
		return again
	} else if rest&1 == 0 {
		s.set(local{year: c.year, month: c.month + bits.TrailingZeros16(rest), day: 1})
		return again
	}
	year, ok := f.yearFrom(c.year)
	if !ok {
		return none
	}
	if year != c.year {
		s.set(local{year: year, month: 1, day: 1})
		return again
	}
	return found
}

// nearest is the step of an iteration for the rules with W, the weekday nearest to a day.
// It looks at one day of the present month, leniently, and at the time of day found so far;
// if that is before the start, the next month is tried. It may turn back within the month.
// It returns found if the search is at the right day.
func (s *search) nearest() step {
	f, c := s.f, s.now
	last := monthLength(c.year, c.month)
	day := int(f.pick)
	if f.rule == byLastNear {
		day = last - int(f.shift)
	}
	_, shown := instantOf(s.loc, &s.near, local{year: c.year, month: c.month, day: day}.seconds())
	midnight := localOf(shown)
	day = nearWeekday(weekdayOf(floorDiv(int(shown), daySeconds)), day, last)

	goal := c
	goal.year, goal.day = midnight.year, day
	at, _ := instantOf(s.loc, &s.near, goal.seconds())
	if at < s.from {
		day = 1
		if f.rule == byNear {
			day = int(f.pick)
		}
		s.set(local{year: c.year, month: c.month + 1, day: day})
		return again
	}
	if day == c.day {
		return found
	}
	if day < c.day {
		return s.turnBack(local{year: c.year, month: c.month, day: day})
	}
	s.set(local{year: c.year, month: c.month, day: day})
	return again
}

// turnBack moves to an earlier day of the same month. If the search turns back to
// one day twice, a clock change hides the wanted time of that day, and Quartz would
// loop forever. The search then skips the month, as Quartz skips a hidden day
// elsewhere, so that the job goes on. Where no such continuation is defined (the
// day does not exist at all, the rule reaches out of its month) the result is
// never.
func (s *search) turnBack(c local) step {
	day := dayNumber(c.year, c.month, c.day)
	if day != s.turned {
		s.turned = day
		s.set(c)
		return again
	}
	if _, shown := instantOf(s.loc, &s.near, c.seconds()); s.f.odd || floorDiv(int(shown), daySeconds) != day {
		return none
	}
	s.set(local{year: c.year, month: c.month + 1, day: 1})
	return again
}
