package schedule

import "math/bits"

// dayRule says how the days of a month are picked.
type dayRule uint8

const (
	byDay      dayRule = iota // days of the month from a list
	byLast                    // L, L-n: last day minus shift
	byNear                    // nW: weekday nearest to pick
	byLastNear                // LW, L-nW: weekday nearest to last day minus shift
	byWeekday                 // days of the week from a list
	byLastWday                // nL: last weekday pick of the month
	byNthWday                 // n#k: the shift-th weekday pick of the month
	byEither                  // Unix cron with both lists restricted: one of them suffices
	byBoth                    // Unix cron with a star in one list: both must hold
)

const (
	firstYear = 1970
	yearWords = 5 // years 1970 to 2289
)

// fields is an expression ready for searching. Weekdays count from 1 (Sunday)
// to 7, months and days from 1; bit n stands for value n.
type fields struct {
	second, minute uint64
	hour           uint32
	days           uint32
	month          uint16
	weekdays       uint8
	rule           dayRule
	pick           uint8 // the day of byNear, the weekday of byLastWday and byNthWday
	shift          uint8 // the n of L-n, the k of n#k
	// odd marks day rules whose result depends on the path of the search, or that reach
	// into a neighbouring month; only search handles them.
	odd      bool
	opening  int32 // first time of day, in seconds
	lastYear int32
	years    [yearWords]uint64
	never    string // why it can never fire; empty if it may
}

// clampYear bounds the last year to those that the bit set has.
func clampYear(y int) int {
	return max(firstYear, min(y, firstYear+64*yearWords-1))
}

// addYear lists a year, unless no search can reach it.
func (f *fields) addYear(y int) {
	if y >= firstYear && y <= int(f.lastYear) {
		f.years[(y-firstYear)>>6] |= 1 << ((y - firstYear) & 63)
	}
}

// yearFrom returns the first listed year that is not before y; false if there is none.
func (f *fields) yearFrom(y int) (int, bool) {
	n := max(y-firstYear, 0)
	for w := n >> 6; w < yearWords; w++ {
		word := f.years[w]
		if w == n>>6 {
			word &= ^uint64(0) << (n & 63)
		}
		if word != 0 {
			return firstYear + w<<6 + bits.TrailingZeros64(word), true
		}
	}
	return 0, false
}

// timeFrom returns the first listed time of day that is not before sod, both in seconds
// since midnight; false if there is none on that day.
func (f *fields) timeFrom(sod int) (int, bool) {
	h, m, s := sod/3600, sod/60%60, sod%60
	if f.hour>>h&1 != 0 {
		if f.minute>>m&1 != 0 {
			if rest := f.second >> s; rest != 0 {
				return sod + bits.TrailingZeros64(rest), true
			}
		}
		if rest := f.minute >> (m + 1); rest != 0 {
			m += 1 + bits.TrailingZeros64(rest)
			return h*3600 + m*60 + bits.TrailingZeros64(f.second), true
		}
	}
	rest := f.hour >> (h + 1)
	if rest == 0 {
		return 0, false
	}
	h += 1 + bits.TrailingZeros32(rest)
	return h*3600 + int(f.opening)%3600, true // with the first listed minute and second
}

// monthDays returns the days of a month that the rule picks; bit n stands for day n. It
// must not be called for odd rules.
func (f *fields) monthDays(y, m int) uint32 {
	last := monthLength(y, m)
	inMonth := uint32(1)<<(last+1) - 2
	switch f.rule {
	case byDay:
		return f.days & inMonth
	case byLast:
		if d := last - int(f.shift); d > 0 {
			return 1 << d
		}
		return 0
	case byNear:
		return 1 << nearWeekday(weekdayOf(dayNumber(y, m, int(f.pick))), int(f.pick), last)
	case byLastNear:
		d := last - int(f.shift)
		return 1 << nearWeekday(weekdayOf(dayNumber(y, m, d)), d, last)
	}
	opening := weekdayOf(dayNumber(y, m, 1)) // weekday of the first
	switch f.rule {
	case byWeekday:
		return weekdayDays(f.weekdays, opening) & inMonth
	case byLastWday:
		first := 1 + (int(f.pick)-opening+7)%7
		return 1 << (first + (last-first)/7*7)
	case byNthWday:
		return 1 << (1 + (int(f.pick)-opening+7)%7 + 7*(int(f.shift)-1)) & inMonth
	case byEither:
		return (f.days | weekdayDays(f.weekdays, opening)) & inMonth
	default: // byBoth
		return f.days & weekdayDays(f.weekdays, opening) & inMonth
	}
}

// weekdayDays spreads a set of weekdays over days 1 to 31 of a month whose
// first day is the weekday opening.
func weekdayDays(set uint8, opening int) uint32 {
	week := uint64(set>>1) & 0x7f // bit 0: Sunday
	week |= week<<7 | week<<14 | week<<21 | week<<28 | week<<35
	return uint32(week >> (opening - 1) << 1)
}

// nearWeekday returns the day from Monday to Friday that is nearest to day d, in a month
// that ends on day last. weekday is that of d, 1 for Sunday. The result stays in the month,
// unless d is beyond its end.
func nearWeekday(weekday, d, last int) int {
	switch {
	case weekday == 7 && d == 1:
		return d + 2
	case weekday == 7:
		return d - 1
	case weekday == 1 && d == last:
		return d - 2
	case weekday == 1:
		return d + 1
	}
	return d
}

// seal computes what searches need from the finished sets.
func (f *fields) seal() {
	f.opening = int32(bits.TrailingZeros32(f.hour)*3600 + bits.TrailingZeros64(f.minute)*60 + bits.TrailingZeros64(f.second))
}
