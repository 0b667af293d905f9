package job

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

const (
	// MaxExcept is the largest number of entries of the setting except.
	MaxExcept = 1_000
	// MaxJitter is the longest jitter.
	MaxJitter = 24 * time.Hour
)

// Days is a set of days of the calendar. The zero value is empty.
type Days struct {
	spans  []daySpan       // ascending, with at least one day between two spans
	yearly map[[2]int]bool // month and day
}

// daySpan is a span of days counted from 1970, both ends included.
type daySpan struct{ from, to int }

// ParseDays reads days in the format of the setting except: "2026-12-25", a range
// "2026-12-24..2027-01-01", or "12-25" for each year. wrong has the indexes of entries that are
// none of these; days has the others.
func ParseDays(entries []string) (days *Days, wrong []int) {
	d := &Days{yearly: map[[2]int]bool{}}
	for i, entry := range entries {
		if !d.add(entry) {
			wrong = append(wrong, i)
		}
	}
	slices.SortFunc(d.spans, func(a, b daySpan) int { return cmp.Compare(a.from, b.from) })
	var joined []daySpan
	for _, s := range d.spans {
		if n := len(joined); n > 0 && s.from <= joined[n-1].to+1 {
			joined[n-1].to = max(joined[n-1].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	d.spans = joined
	return d, wrong
}

// add adds one entry, and returns false if it is none of the three forms.
func (d *Days) add(entry string) bool {
	// 2000 has a 29 February.
	if t, err := time.Parse(time.DateOnly, "2000-"+entry); err == nil {
		d.yearly[[2]int{int(t.Month()), t.Day()}] = true
		return true
	}
	first, last, isRange := strings.Cut(entry, "..")
	if !isRange {
		last = first
	}
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return false
	}
	to, err := time.Parse(time.DateOnly, last)
	if err != nil || to.Before(from) {
		return false
	}
	d.spans = append(d.spans, daySpan{dayOf(from), dayOf(to)})
	return true
}

const daySeconds = 24 * 60 * 60

// dayOf returns the number of days from 1970 to the date of t in t's own zone.
func dayOf(t time.Time) int {
	y, m, d := t.Date()
	at := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()
	if at < 0 { // so that the division rounds down
		at -= daySeconds - 1
	}
	return int(at / daySeconds)
}

// Has reports whether the set has the date of t in t's own zone.
func (d *Days) Has(t time.Time) bool { return d.free(dayOf(t), 0) != dayOf(t) }

// After returns midnight UTC of the first day, from the date of t on, that is not in the set.
// If there is none for a hundred years, ok is false.
func (d *Days) After(t time.Time) (day time.Time, ok bool) {
	const most = 100 * 366
	from := dayOf(t)
	free := d.free(from, most)
	return time.Unix(int64(free)*daySeconds, 0).UTC(), free <= from+most
}

// free returns the first day from n on that is not in the set. It gives up after most days, and
// returns a later day than n + most then.
func (d *Days) free(n, most int) int {
	for until := n + most; n <= until; {
		k, in := slices.BinarySearchFunc(d.spans, n, func(s daySpan, n int) int {
			switch {
			case s.to < n:
				return -1
			case s.from > n:
				return 1
			}
			return 0
		})
		if in {
			n = d.spans[k].to + 1
			continue
		}
		_, month, day := time.Unix(int64(n)*daySeconds, 0).UTC().Date()
		if !d.yearly[[2]int{int(month), day}] {
			return n
		}
		n++
	}
	return n
}

// timing checks except and jitter. A job shared with ElasticJob cannot have them: its members
// would fire on these days and without a delay.
func (f *faults) timing(c *Config) {
	if len(c.Except) > MaxExcept {
		f.add("except", reason.Of(reason.TooManyElements, strconv.Itoa(len(c.Except)), strconv.Itoa(MaxExcept)))
	} else if _, wrong := ParseDays(c.Except); len(wrong) > 0 {
		for _, i := range wrong {
			f.add("except["+strconv.Itoa(i)+"]", reason.Of(reason.DayInvalid, quote(c.Except[i])))
		}
	}
	if c.Jitter > MaxJitter {
		f.add("jitter", reason.Of(reason.TooMuch, c.Jitter.String(), MaxJitter.String()))
	}
	if c.Class != "" && len(c.Except) > 0 {
		f.add("except", reason.Of(reason.TimingOfClass))
	}
	if c.Class != "" && c.Jitter > 0 {
		f.add("jitter", reason.Of(reason.TimingOfClass))
	}
}
