package schedule

import "math/bits"

const daySeconds = 86400

// dayNumber counts days from 1 January 1970 to a date of the Gregorian calendar. Day and
// month may lie outside their range and carry over. 146097 is the number of days in 400
// years, an era.
func dayNumber(y, m, d int) int {
	m-- // from zero
	if m < 0 || m > 11 {
		y += floorDiv(m, 12)
		m -= floorDiv(m, 12) * 12
	}
	// Years that start in March put the leap day at their end.
	m -= 2
	if m < 0 {
		m += 12
		y--
	}
	era := floorDiv(y, 400)
	yoe := y - era*400 // year of the era
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + (153*m+2)/5 + d - 719469
}

// date is the inverse of dayNumber.
func date(n int) (y, m, d int) {
	n += 719468
	era := floorDiv(n, 146097)
	doe := uint32(n - era*146097) // day of the era
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100) // day of the year, which starts in March
	mp := (5*doy + 2) / 153                  // month, 0 for March
	d = int(doy-(153*mp+2)/5) + 1
	y = int(yoe) + era*400
	if mp < 10 {
		return y, int(mp) + 3, d
	}
	return y + 1, int(mp) - 9, d
}

// weekdayOf returns 1 (Sunday) to 7 for a day number.
func weekdayOf(n int) int {
	return n + 4 - floorDiv(n+4, 7)*7 + 1
}

// monthLength returns the number of days of a month.
func monthLength(y, m int) int {
	if m == 2 {
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 30 + (m^m>>3)&1 // up to July the odd months have 31 days, after it the even ones
}

// floorDiv divides by a positive number, and rounds down.
func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// civilNext searches on local dates as if every local time existed exactly once. from and
// the result are local seconds: the local time, counted as if it were UTC. The result is
// not before from; false means that there is none. Each pass of the loop moves on to the
// next year, month or day that is listed; the time of day then begins anew.
func (f *fields) civilNext(from int64) (int64, bool) {
	n := int(from / daySeconds) // from is never negative here
	y, m, d := date(n)
	tod, ok := f.timeFrom(int(from % daySeconds))
	if !ok {
		tod = int(f.opening)
		d++ // no time is left on the first day
	}
	for {
		if f.years[min((y-firstYear)>>6, yearWords-1)]>>((y-firstYear)&63)&1 == 0 || y > int(f.lastYear) {
			next, ok := f.yearFrom(y)
			if !ok || next > int(f.lastYear) {
				return 0, false
			}
			y, m, d, tod = next, 1, 1, int(f.opening)
		}
		months := f.month >> m
		if months == 0 {
			y, m, d, tod = y+1, 1, 1, int(f.opening)
			continue
		}
		if skip := bits.TrailingZeros16(months); skip > 0 {
			m, d, tod = m+skip, 1, int(f.opening)
		}
		days := f.monthDays(y, m) >> d
		if days == 0 {
			if m, d, tod = m+1, 1, int(f.opening); m > 12 {
				y, m = y+1, 1
			}
			continue
		}
		if skip := bits.TrailingZeros32(days); skip > 0 {
			d, tod = d+skip, int(f.opening)
		}
		return int64(dayNumber(y, m, d))*daySeconds + int64(tod), true
	}
}
