package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// debian is Debian's cron: it wakes up each minute, compares the clock with the expected
// time, and runs what is due.
type debian struct {
	u          *Unix
	star, both bool  // whether minute or hour, and whether day or weekday, begins with a star
	virtual    int64 // the local minute up to which everything has run
	fires      []int64
}

// wake does the work of one minute of real time.
func (d *debian) wake(minute int64) {
	_, offset := time.Unix(minute*60, 0).In(d.u.loc).Zone()
	local := minute + int64(offset)/60
	switch ahead := local - d.virtual; {
	case ahead > 180 || ahead <= -180: // the clock was wrong
		d.virtual = local
		d.find(minute, local, true, true)
	case ahead > 5:
		d.find(minute, local, true, false)
		for d.virtual < local {
			d.virtual++
			d.find(minute, d.virtual, false, true)
		}
	case ahead > 0:
		for d.virtual < local {
			d.virtual++
			d.find(minute, d.virtual, true, true)
		}
	default:
		d.find(minute, local, true, false)
	}
}

// find runs the entries of a local minute. An instant runs once, however many local times
// it covers.
func (d *debian) find(minute, local int64, wild, fixed bool) {
	f := &d.u.f
	if f.minute>>(local%60)&1 == 0 || f.hour>>(local/60%24)&1 == 0 {
		return
	}
	t := time.Unix(local*60, 0).UTC()
	day, weekday := f.days>>t.Day()&1 != 0, f.weekdays>>(int(t.Weekday())+1)&1 != 0
	if d.star && !wild || !d.star && !fixed || d.both && !(day && weekday) || !day && !weekday {
		return
	}
	if f.month>>t.Month()&1 == 0 {
		return
	}
	if n := len(d.fires); n == 0 || d.fires[n-1] != minute*60 {
		d.fires = append(d.fires, minute*60)
	}
}

// changes are clock changes by an hour, by half an hour and by two hours, at midnight,
// and by more than cron accepts as daylight saving.
var changes = map[string][]string{
	"Europe/Berlin":       {"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "1980-04-06T01:00:00Z"},
	"America/New_York":    {"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z", "2100-03-14T07:00:00Z"},
	"Australia/Lord_Howe": {"2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z"},
	"America/Havana":      {"2026-03-08T05:00:00Z", "2026-11-01T05:00:00Z"},
	"America/Sao_Paulo":   {"2018-11-04T03:00:00Z", "2018-02-18T02:00:00Z"},
	"America/Nuuk":        {"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"},
	"Africa/Cairo":        {"2026-04-23T22:00:00Z", "2026-10-29T21:00:00Z"},
	"Antarctica/Troll":    {"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"},
	"Asia/Kathmandu":      {"1985-12-31T18:30:00Z"},
	"Asia/Pyongyang":      {"2015-08-14T15:00:00Z", "2018-05-04T15:00:00Z"},
	"Antarctica/Casey":    {"2010-03-04T15:00:00Z", "2011-10-27T18:00:00Z"},
	"Antarctica/Vostok":   {"1994-01-31T17:00:00Z", "1994-11-01T00:00:00Z"},
	"Pacific/Apia":        {"2011-12-30T10:00:00Z", "2011-09-24T14:00:00Z"},
	"Asia/Tokyo":          {"2026-03-29T01:00:00Z"},
}

func randomUnix(r *rand.Rand) string {
	field := func(low, high, stars int) string {
		a, b := low+r.IntN(high-low+1), low+r.IntN(high-low+1)
		switch n := r.IntN(8); {
		case n < stars:
			return []string{"*", "*/" + strconv.Itoa(1+r.IntN(high))}[r.IntN(2)]
		case n == 4:
			return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		case n == 5:
			return fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), 1+r.IntN(high))
		case n == 6:
			return fmt.Sprintf("%d,%d", a, b)
		}
		return strconv.Itoa(a)
	}
	hour := strconv.Itoa(r.IntN(4)) // where most clocks change
	if r.IntN(2) == 0 {
		hour = field(0, 23, 3)
	}
	day, month, weekday := "*", "*", "*"
	switch r.IntN(6) {
	case 0:
		day = field(1, 31, 2)
	case 1:
		weekday = field(0, 6, 2)
	case 2:
		day, weekday, month = field(1, 31, 2), field(0, 6, 2), field(1, 12, 4)
	}
	return strings.Join([]string{field(0, 59, 3), hour, day, month, weekday}, " ")
}

// Next returns the times that Debian's cron runs, minute by minute, in the days around
// each clock change, wherever the search begins.
func TestUnixAtClockChanges_is_as_Debians_cron(t *testing.T) {
	t.Parallel()
	const days = 3
	for zone, at := range changes {
		t.Run(strings.ReplaceAll(zone, "/", "-"), func(t *testing.T) {
			t.Parallel()
			loc := location(t, zone)
			r := rand.New(rand.NewPCG(13, uint64(len(zone))))
			fires := 0
			for _, text := range at {
				change := instant(t, text).Unix()
				from, to := change-days*daySeconds, change+days*daySeconds
				for range 150 {
					fires += followsDebian(t, r, loc, randomUnix(r), from, to)
				}
			}
			if fires < 1000 {
				t.Errorf("only %d instants", fires)
			}
		})
	}
}

func followsDebian(t *testing.T, r *rand.Rand, loc *time.Location, text string, from, to int64) int {
	t.Helper()
	s, err := ParseUnix(text, loc)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	parts := strings.Fields(text)
	star := func(k int) bool { return parts[k][0] == '*' }
	d := debian{u: s.(*Unix), star: star(0) || star(1), both: star(2) || star(4)}
	_, offset := time.Unix(from, 0).In(loc).Zone()
	d.virtual = (from + int64(offset)) / 60
	for minute := from/60 + 1; minute <= to/60; minute++ {
		d.wake(minute)
	}
	var got []int64
	for at := s.Next(time.Unix(from, 0)); !at.IsZero() && at.Unix() <= to; at = s.Next(at) {
		got = append(got, at.Unix())
	}
	show := func(all []int64) (s []string) {
		for _, at := range all {
			s = append(s, time.Unix(at, 0).In(loc).Format("Mon 02 15:04 -07"))
		}
		return s
	}
	if !slices.Equal(got, d.fires) {
		t.Fatalf("%q %v:\ngot  %q\nwant %q", text, loc, show(got), show(d.fires))
	}
	change := (from + to) / 2
	for _, start := range []int64{change - 1, change, from + r.Int64N(to-from), from + r.Int64N(to-from)} {
		i, _ := slices.BinarySearch(d.fires, start+1)
		if next := s.Next(time.Unix(start, 0)).Unix(); i < len(d.fires) && next != d.fires[i] {
			t.Fatalf("%q %v: after %q comes %q, want %q", text, loc, show([]int64{start}), show([]int64{next}), show(d.fires[i:i+1]))
		}
	}
	return len(got)
}

func TestUnixAtClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, zone, from, want string }{
		{"in the hour that is left out", "30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "28 02:30 +01, 29 03:00 +02, 30 02:30 +02"},
		{"twice in it", "0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29 03:00 +02, 30 02:00 +02, 30 02:30 +02"},
		{"at its end, too", "30 2-3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29 03:00 +02, 29 03:30 +02, 30 02:30 +02"},
		{"in the hour that comes twice", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "25 02:30 +02, 26 02:30 +01, 27 02:30 +01"},
		{"from within the second pass", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "26 02:30 +01, 27 02:30 +01, 28 02:30 +01"},
		{"each hour, forward", "30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "29 01:30 +01, 29 03:30 +02, 29 04:30 +02"},
		{"each hour, back", "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "25 02:30 +02, 25 02:30 +01, 25 03:30 +01"},
		{"a step is a star", "*/30 2 * * *", "Europe/Berlin", "2026-10-24T23:59:59Z", "25 02:00 +02, 25 02:30 +02, 25 02:00 +01"},
		{"a question mark is a star", "30 ? * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "25 02:30 +02, 25 02:30 +01, 25 03:30 +01"},
		{"@hourly", "@hourly", "Europe/Berlin", "2026-10-24T23:59:59Z", "25 02:00 +02, 25 02:00 +01, 25 03:00 +01"},
		{"@daily over midnight", "@daily", "America/Havana", "2026-03-07T12:00:00Z", "08 01:00 -04, 09 00:00 -04, 10 00:00 -04"},
		{"a list of all hours is no star", "0 0-23 * * *", "Europe/Berlin", "2026-10-24T23:59:59Z", "25 02:00 +02, 25 03:00 +01, 25 04:00 +01"},
		{"half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "04 02:30 +11, 05 02:15 +11, 06 02:15 +11"},
		{"a day that is left out", "0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "29 12:00 -10, 31 12:00 +14, 01 12:00 +14"},
		{"years later", "30 2 29 2 *", "Europe/Berlin", "2099-01-01T00:00:00Z", "29 02:30 +01, 29 02:30 +01, 29 02:30 +01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := ParseUnix(c.text, location(t, c.zone))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for at := instant(t, c.from); len(got) < 3; {
				at = s.Next(at)
				got = append(got, at.Format("02 15:04 -07"))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// No clock change comes so soon after another that the two interact.
func TestChangesOfClocks_are_days_from_each_other(t *testing.T) {
	t.Parallel()
	for zone := range changes {
		loc := location(t, zone)
		for s := spanAt(loc, 0); s.end < instant(t, "2100-01-01T00:00:00Z").Unix(); {
			next := spanAt(loc, s.end)
			if next.end-next.start < 2*daySeconds {
				t.Errorf("%s: %v", zone, next)
			}
			s = next
		}
	}
}
