package schedule

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func parse(t testing.TB, text, zone string) *Quartz {
	t.Helper()
	q, err := Parse(text, location(t, zone))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return q
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNext(t *testing.T) {
	t.Parallel()
	const newYork, saoPaulo, lordHowe = "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe"
	for _, c := range []struct{ name, text, zone, from, want string }{
		{"strictly after", "0 0 12 * * ?", "UTC", "2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z"},
		{"inside a second", "* * * * * ?", "UTC", "2026-01-01T12:00:00.9Z", "2026-01-01T12:00:01Z"},
		{"before 1970", "0 0 0 * * ?", "UTC", "1900-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"gap skips the day", "0 30 2 * * ?", newYork, "2026-03-07T12:00:00-05:00", "2026-03-09T02:30:00-04:00"},
		{"gap leaves later quarters", "0 0/15 * * * ?", newYork, "2026-03-08T01:45:00-05:00", "2026-03-08T03:00:00-04:00"},
		{"overlap fires once, in its second pass", "0 30 1 * * ?", newYork, "2026-11-01T00:00:00-04:00", "2026-11-01T01:30:00-05:00"},
		{"first pass is silent", "* * * * * ?", newYork, "2026-11-01T00:59:59-04:00", "2026-11-01T01:00:00-05:00"},
		{"gap at midnight", "0 0 0 * * ?", saoPaulo, "2018-11-03T12:00:00-03:00", "2018-11-05T00:00:00-02:00"},
		{"half-hour gap", "0 15 2 * * ?", lordHowe, "2026-10-03T12:00:00+10:30", "2026-10-05T02:15:00+11:00"},
		{"half-hour gap, later half", "0 45 2 * * ?", lordHowe, "2026-10-03T12:00:00+10:30", "2026-10-04T02:45:00+11:00"},
		{"missing day", "0 0 0 30 12 ?", "Pacific/Apia", "2011-12-01T00:00:00-10:00", "2012-12-30T00:00:00+14:00"},
		{"last Friday in April is the last workday and begins with a gap", "0 0 0 LW * ?", "Africa/Cairo", "2033-04-05T00:00:00+02:00", "2033-05-31T00:00:00+03:00"},
		{"year ends in a leap year", "0 0 0 31 12 ?", newYork, "2040-12-01T00:00:00-05:00", "2040-12-31T00:00:00-05:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, c.text, c.zone).Next(instant(t, c.from))
			if want := instant(t, c.want); !got.Equal(want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestNextIsPromptAtTheEdges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"* * * * * ?", "0 0 0 31 2 ?", "0 0 0 0W * ?", "0 0 0 L-30W 2 ?", "0 0 0 29W 2 ?", "0 0 0 ? * 8#1", "0 0 0 1 1 ? 999999"} {
		for _, zone := range []string{"UTC", "America/New_York", "Pacific/Apia"} {
			q := parse(t, text, zone)
			for _, from := range []int64{-1 << 62, -1 << 40, -1, 0, 1 << 40, 1<<62 - 1} {
				at := time.Unix(from, 0)
				if next := q.Next(at); !next.IsZero() && !next.After(at) {
					t.Errorf("%q %s: Next(%d) = %v", text, zone, from, next)
				}
			}
		}
	}
}

// oddZones are zones with unusual clock changes.
var oddZones = []string{
	"UTC", "America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Cairo",
	"Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu", "America/Havana", "Asia/Tehran", "Antarctica/Troll",
}

// randomText makes a valid expression.
func randomText(r *rand.Rand) string {
	field := func(low, high int) string {
		a, b := low+r.IntN(high-low+1), low+r.IntN(high-low+1)
		switch r.IntN(6) {
		case 0:
			return "*"
		case 1:
			return strconv.Itoa(a) + "-" + strconv.Itoa(b)
		case 2:
			return strconv.Itoa(a) + "/" + strconv.Itoa(1+r.IntN(high))
		case 3:
			return strconv.Itoa(a) + "," + strconv.Itoa(b)
		}
		return strconv.Itoa(a)
	}
	dom, dow := field(1, 31), "?"
	switch n := strconv.Itoa(1 + r.IntN(28)); r.IntN(8) {
	case 0:
		dom = "L"
	case 1:
		dom = "L-" + n
	case 2:
		dom = "LW"
	case 3:
		dom = n + "W"
	case 4:
		dom, dow = "?", strconv.Itoa(1+r.IntN(7))+"#"+strconv.Itoa(1+r.IntN(5))
	case 5:
		dom, dow = "?", strconv.Itoa(1+r.IntN(7))+"L"
	case 6:
		dom, dow = "?", field(1, 7)
	}
	months := field(1, 12)
	if r.IntN(2) == 0 {
		months = "*"
	}
	return strings.Join([]string{field(0, 59), field(0, 59), field(0, 23), dom, months, dow}, " ")
}

// TestShortcutAgreesWithRounds compares the search on local dates with the step-by-step
// search, mostly around clock changes.
func TestShortcutAgreesWithRounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		text, zone := randomText(r), oddZones[r.IntN(len(oddZones))]
		q := parse(t, text, zone)
		if q.f.never != "" {
			continue
		}
		from := time.Date(2011+r.IntN(100), time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), 0, 0, 0, q.loc).Unix()
		if s := spanAt(q.loc, from); r.IntN(2) == 0 && s.end < beyondAll {
			from = s.end - 4*daySeconds + r.Int64N(8*daySeconds)
		}
		for range 4 {
			at, ok := q.f.next(q.loc, from)
			want, wantOK := q.f.search(q.loc, spanAt(q.loc, from), from)
			if ok != wantOK || ok && at != want {
				t.Fatalf("%q %s from %v: got %v, the replay says %v", text, zone, time.Unix(from, 0).In(q.loc), time.Unix(at, 0).In(q.loc), time.Unix(want, 0).In(q.loc))
			}
			if !ok {
				break
			}
			if at < from {
				t.Fatalf("%q %s: went back", text, zone)
			}
			from = at + 1
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	// Not parallel, because it counts allocations of the process.
	change := instant(t, "2026-03-08T07:00:00Z")
	for _, text := range []string{"* * * * * ?", "0 0 9 LW * ?", "0 0 0 29 2 ?", "0 30 2 * * ?"} {
		q := parse(t, text, "America/New_York")
		at := change.Add(-time.Hour)
		if n := testing.AllocsPerRun(100, func() { at = q.Next(at) }); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

func TestDatesAgreeWithPackageTime(t *testing.T) {
	t.Parallel()
	for n := -800_000; n < 800_000; n += 37 {
		want := time.Unix(int64(n)*daySeconds, 0).UTC()
		y, m, d := date(n)
		if y != want.Year() || m != int(want.Month()) || d != want.Day() || dayNumber(y, m, d) != n || weekdayOf(n) != int(want.Weekday())+1 {
			t.Fatalf("day %d: got %d-%d-%d, want %v", n, y, m, d, want)
		}
		if last := time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day(); monthLength(y, m) != last {
			t.Fatalf("%d-%d has %d days, want %d", y, m, monthLength(y, m), last)
		}
	}
	if dayNumber(2026, 14, 0) != dayNumber(2027, 1, 31) || dayNumber(2026, 0, 1) != dayNumber(2025, 12, 1) {
		t.Error("months do not carry over")
	}
}
