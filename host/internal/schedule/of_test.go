package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// An excepted day removes its own instants and no others, also in zones whose clocks
// change at midnight, and for a schedule with more than one instant a day.
func TestExceptLeavesOutItsDaysAlone(t *testing.T) {
	t.Parallel()
	days := []string{"12-25", "2026-02-28..2026-03-02", "2026-03-30", "2026-09-05..2026-09-06", "2026-11-01", "2025-11-02", "2026-10-24"}
	parsed, _ := job.ParseDays(days)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Havana", "America/Santiago", "Asia/Beirut", "Pacific/Kiritimati"} {
		for _, cron := range []string{"0 0 2 * * ?", "0 */20 * * * ?", "59 59 23 * * ?", "0 0 0 * * ?", "0 30 0 1 * ?"} {
			t.Run(zone+" "+strings.ReplaceAll(cron, "/", "%"), func(t *testing.T) {
				t.Parallel()
				c := job.Config{Name: "j", Cron: cron, TimeZone: zone, Except: days}
				s, err := Of(c)
				if err != nil {
					t.Fatal(err)
				}
				loc, err := LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				from, until := instant(t, "2025-10-01T00:00:00Z"), instant(t, "2027-01-02T00:00:00Z")
				left := 0
				at := s.Next(from)
				for base := Plain(s).Next(from); base.Before(until); base = Plain(s).Next(base) {
					if parsed.Has(base.In(loc)) {
						left++
						if !Excepted(s, base) {
							t.Fatalf("%v is not said to be excepted", base)
						}
						continue
					}
					if !at.Equal(base) || Excepted(s, base) {
						t.Fatalf("got %v, want %v", at, base)
					}
					at = s.Next(at)
				}
				if left == 0 && cron != "0 30 0 1 * ?" {
					t.Error("nothing was left out")
				}
			})
		}
	}
}

// All servers delay the instants of a job by the same time, and those of other jobs by
// another.
func TestJitterIsTheJobsOwn(t *testing.T) {
	t.Parallel()
	var shares []time.Duration
	for _, name := range []string{"daily-report", "nightly", "sync", "a", "b"} {
		c := job.Config{Name: name, Cron: "0 0 2 * * ?", TimeZone: "Europe/Berlin", Jitter: 10 * time.Minute, Except: []string{"2026-03-02"}}
		s, err := Of(c)
		if err != nil {
			t.Fatal(err)
		}
		from := instant(t, "2026-02-28T12:00:00Z")
		var got []time.Time
		for range 3 {
			from = s.Next(from)
			got = append(got, from)
		}
		by := got[0].Sub(instant(t, "2026-03-01T01:00:00Z"))
		if by < 0 || by >= c.Jitter || !got[1].Equal(instant(t, "2026-03-03T01:00:00Z").Add(by)) || !got[2].Equal(instant(t, "2026-03-04T01:00:00Z").Add(by)) {
			t.Errorf("%s: %v", name, got)
		}
		if !Excepted(s, instant(t, "2026-03-02T01:00:00Z").Add(by)) || Excepted(s, instant(t, "2026-03-02T01:00:00Z").Add(by+time.Second)) {
			t.Errorf("%s: the instant that is left out is not known", name)
		}
		shares = append(shares, by)
	}
	// Another hash would move the instants of existing jobs.
	if want := (time.Duration(0)); shares[0] == want || len(slices.Compact(slices.Sorted(slices.Values(shares)))) != len(shares) {
		t.Errorf("shares %v", shares)
	}
}

// A schedule without any instant left is an error, and the search for one ends.
func TestExceptThatLeavesNothing(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-03-01T00:00:00Z")
	for _, except := range [][]string{{"12-25"}, {"12-25", "01-01..01-31", "1970-01-01..2999-12-31"}} {
		c := job.Config{Cron: "0 0 0 25 12 ?", Except: except}
		if err := Check(c, now); err == nil || !strings.Contains(err.Error(), "never fires: none of its days is left by except") {
			t.Errorf("%v: %v", except, err)
		}
	}
}
