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
	// MaxExcept is how many entries the setting except has.
	MaxExcept = 1_000
	// MaxJitter is the longest jitter.
	MaxJitter = 24 * time.Hour
)

// Days is a set of days of the calendar. The zero value is empty.
type Days struct {
	spans  []daySpan       // ascending, with days between each two
	yearly map[[2]int]bool // month and day
}

// daySpan goes from one day to another, that one included; both count from 1970.
type daySpan struct{ from, to int }

// ParseDays reads days as the setting except has them: "2026-12-25", a range
// "2026-12-24..2027-01-01", or "12-25" for each year. Wrong are the indexes of entries
// that are none of these; the others count.
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

func (d *Days) add(entry string) bool {
	// The year has a 29 February.
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

// dayOf counts the days from 1970 to the day that the clock of t shows.
func dayOf(t time.Time) int {
	y, m, d := t.Date()
	at := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()
	if at < 0 {
		at -= daySeconds - 1
	}
	return int(at / daySeconds)
}

// Has reports whether the day that the clock of t shows is one of them.
func (d *Days) Has(t time.Time) bool { return d.free(dayOf(t), 0) != dayOf(t) }

// After returns the midnight, in UTC, of the first day from that of t on that is none of
// them. If there is none for a hundred years, ok is false.
func (d *Days) After(t time.Time) (day time.Time, ok bool) {
	const most = 100 * 366
	from := dayOf(t)
	free := d.free(from, most)
	return time.Unix(int64(free)*daySeconds, 0).UTC(), free <= from+most
}

// free returns the first day from n on that is none of them, but looks no further than
// most days.
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

// timing checks what ElasticJob has no word for: its members would fire on these days, and
// without a delay.
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
