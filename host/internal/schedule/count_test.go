package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, after, upTo string
		limit, n                int
		first, last             string
	}{
		{"none", "0 0 12 * * ?", "2026-01-01T12:00:00Z", "2026-01-02T11:59:59Z", 10, 0, "", ""},
		{"after is excluded, upTo included", "0 0 12 * * ?", "2026-01-01T12:00:00Z", "2026-01-03T12:00:00Z", 10, 2, "2026-01-02T12:00:00Z", "2026-01-03T12:00:00Z"},
		{"one", "0 0 12 * * ?", "2026-01-01T00:00:00Z", "2026-01-01T23:00:00Z", 1, 1, "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"},
		{"more than the limit", "* * * * * ?", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 100, 100, "2026-01-01T00:00:01Z", "2027-01-01T00:00:00Z"},
		{"bursts far apart", "* * 0 1 1 ?", "2020-06-01T00:00:00Z", "2026-06-01T00:00:00Z", 10, 10, "2021-01-01T00:00:00Z", "2026-01-01T00:59:59Z"},
		{"years end", "0 0 0 1 1 ? 2027-2028", "2026-01-01T00:00:00Z", "2099-01-01T00:00:00Z", 10, 2, "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"},
		{"backwards", "* * * * * ?", "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z", 10, 0, "", ""},
		{"no limit is no count", "* * * * * ?", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 0, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, first, last := Count(parse(t, c.text, "UTC"), instant(t, c.after), instant(t, c.upTo), c.limit)
			show := func(at time.Time) string {
				if at.IsZero() {
					return ""
				}
				return at.Format(time.RFC3339)
			}
			if n != c.n || show(first) != c.first || show(last) != c.last {
				t.Errorf("got %d from %v to %v, want %d from %s to %s", n, first, last, c.n, c.first, c.last)
			}
		})
	}
}

// The newest instants are the last of all, however far apart they are.
func TestNewest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, after, upTo string
		most                    int
	}{
		{"none", "0 0 12 * * ?", "2026-01-01T12:00:00Z", "2026-01-02T11:59:59Z", 3},
		{"after is excluded, upTo included", "0 0 12 * * ?", "2026-01-01T12:00:00Z", "2026-01-03T12:00:00Z", 3},
		{"fewer than wanted", "0 0 12 * * ?", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z", 100},
		{"as many as wanted", "0 0 12 * * ?", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z", 4},
		{"dense", "* * * * * ?", "2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z", 100},
		{"bursts far apart", "0 * 0 1 1 ?", "2020-06-01T00:00:00Z", "2026-06-01T00:00:00Z", 100},
		{"clocks change", "0 30 2 * * ?", "2026-03-20T00:00:00Z", "2026-04-03T00:00:00Z", 10},
		{"backwards", "* * * * * ?", "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, after, upTo := parse(t, c.text, "Europe/Berlin"), instant(t, c.after), instant(t, c.upTo)
			var all []time.Time
			for at := s.Next(after); !at.IsZero() && !at.After(upTo); at = s.Next(at) {
				all = append(all, at)
			}
			want := all[max(0, len(all)-c.most):]
			if got := Newest(s, after, upTo, c.most); !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	year, began := instant(t, "2026-01-01T00:00:00Z"), 0
	Newest(counted{parse(t, "* * * * * ?", "UTC"), &began}, year, year.AddDate(1, 0, 0), 100)
	if began > 1000 {
		t.Errorf("it asked for %d instants to list 100 of a year", began)
	}
}

// counted counts the calls of Next.
type counted struct {
	Schedule
	asked *int
}

func (c counted) Next(t time.Time) time.Time {
	*c.asked++
	return c.Schedule.Next(t)
}

// stuck is a schedule that breaks the contract of Next.
type stuck struct{ at time.Time }

func (s stuck) Next(time.Time) time.Time { return s.at }

func TestCountSurvivesAStuckSchedule(t *testing.T) {
	t.Parallel()
	at := instant(t, "2026-01-01T00:00:00Z")
	if n, _, last := Count(stuck{at}, at.Add(-time.Hour), at.Add(time.Hour), 100); n != 1 || !last.Equal(at) {
		t.Errorf("got %d up to %v", n, last)
	}
}

func TestWhyNever(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-01-01T00:00:00Z")
	for text, want := range map[string]string{
		"0 0 0 * * ?":           "",
		"0 0 0 31 2,4 ?":        "none of its months",
		"0 0 0 29 2 ? 2027":     "none of its years",
		"0 0 0 1 1 ? 2020":      "its last instant has passed",
		"0 0 0 0W * ?":          "0W",
		", 0 0 * * ?":           "second lists nothing",
		"0 0 0 1 1 ? 3000":      "year lists nothing",
		"0 0 0 ? * 9#1":         "no weekday",
		"0 0 0 L-29W 2 ?":       "none of its months",
		"0 0 0 1 L ? ":          "month lists nothing",
		"0 0 0 1 1 ? 2026-2125": "",
	} {
		if over := Over(parse(t, text, "UTC"), now); over != (want == "its last instant has passed") {
			t.Errorf("%q: over is %v", text, over)
		}
		got := WhyNever(parse(t, text, "UTC"), now)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
