package schedule

import (
	"strings"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for i, text := range []string{
		"* * * * * ?", "0 0/15 9-17 ? * MON-FRI", "0 0 0 LW * ?", "0 0 0 L-29W * ?", "0 0 0 31W * ? 2030", "0 0 0 ? * 6#3",
		"0 0 0 ? * FRIL", "0 30 2 15W,16 1-12/3 ?", "99 98 97 * * ?", "L L L L L ?", "0 0 0 0W * ?", "59-0 * 23-1 ? 12-1 7-1 1970-2200/7",
		", , , ? , ,", "*/٣ * * * * ?", "0 0 0 ?\x00 * 2", "@every 1h", "*/5 * * * *", "0 0 1 1 0",
	} {
		f.Add(text, int64(1_700_000_000+i*7_777_777), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, from int64, zone uint8) {
		loc, err := time.LoadLocation(oddZones[int(zone)%len(oddZones)])
		if err != nil {
			t.Fatal(err)
		}
		if s, err := ParseUnix(text, loc); err == nil {
			ascending(t, s, from)
		}
		q, err := Parse(text, loc)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		ascending(t, q, from)
		for _, note := range q.ClockChanges(time.Unix(from, 0)) {
			if !strings.HasPrefix(note, "on ") && !strings.HasPrefix(note, "after ") {
				t.Errorf("%q %v from %d: %q", text, loc, from, note)
			}
		}
		if again, err := Parse(q.String(), loc); err != nil || again.f != q.f {
			t.Errorf("%q reads differently the second time: %v", text, err)
		}
		if q.f.never != "" || from < 0 || from > beyondAll {
			return
		}
		at, ok := q.f.next(loc, from)
		want, wantOK := q.f.search(loc, spanAt(loc, from), from)
		if ok != wantOK || ok && at != want {
			t.Errorf("%q %v from %d: got %d %v, the replay says %d %v", text, loc, from, at, ok, want, wantOK)
		}
	})
}

func ascending(t *testing.T, s Schedule, from int64) {
	t.Helper()
	at := time.Unix(from, 0)
	for range 5 {
		next := s.Next(at)
		if next.IsZero() {
			return
		}
		if !next.After(at) {
			t.Fatalf("Next(%v) = %v", at, next)
		}
		at = next
	}
}

func FuzzZone(f *testing.F) {
	for _, name := range []string{"UTC", "Europe/Berlin", "../../etc/passwd", "GMT+08:00", "GMT+8:60", "GMT-", "Local", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if loc, err := LoadLocation(name); (loc == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", name, loc, err)
		}
		loc, ok, err := GMTZone(name)
		if ok != (loc != nil) || ok && err != nil {
			t.Errorf("%q: %v, %v, %v", name, loc, ok, err)
		}
		if ok {
			if _, offset := time.Unix(0, 0).In(loc).Zone(); offset <= -daySeconds || offset >= daySeconds {
				t.Errorf("%q is %d seconds off", name, offset)
			}
		}
	})
}
