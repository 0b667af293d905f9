package job

import (
	"slices"
	"testing"
	"time"
)

func TestDays(t *testing.T) {
	t.Parallel()
	entries := []string{"2026-12-24..2026-12-26", "2026-12-26..2027-01-01", "2024-02-29", "05-01", "02-29", "1969-12-31"}
	days, wrong := ParseDays(entries)
	if len(wrong) > 0 {
		t.Fatalf("wrong: %v", wrong)
	}
	for text, in := range map[string]bool{
		"2026-12-23": false, "2026-12-24": true, "2026-12-27": true, "2027-01-01": true, "2027-01-02": false, "2024-02-29": true,
		"2028-02-29": true, "2028-02-28": false, "2028-03-01": false, "2031-05-01": true, "1969-12-31": true, "1969-12-30": false,
	} {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := days.Has(at.Add(23 * time.Hour)); got != in {
			t.Errorf("%s: %v", text, got)
		}
		if after, ok := days.After(at); !ok || after.Equal(at) == in || days.Has(after) || in && !days.Has(after.AddDate(0, 0, -1)) {
			t.Errorf("after %s: %v", text, after)
		}
	}
	if after, _ := days.After(time.Date(2026, 12, 24, 5, 0, 0, 0, time.UTC)); after.Format(time.DateOnly) != "2027-01-02" {
		t.Errorf("after the ranges: %v", after)
	}
	_, wrong = ParseDays([]string{"", "2026-02-30", "02-30", "2026-12-26..2026-12-24", "..", "2026-1-1", "12-25..12-26", "2026-01-01..2026-01-02..2026-01-03", "2026-01-01"})
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(wrong, want) {
		t.Errorf("wrong: %v, want %v", wrong, want)
	}
}

func FuzzDays(f *testing.F) {
	f.Add("2026-12-25", int64(0))
	f.Add("02-29", int64(951782400))
	f.Add("0001-01-01..9999-12-31", int64(1e9))
	f.Fuzz(func(t *testing.T, entry string, at int64) {
		days, wrong := ParseDays([]string{entry})
		when := time.Unix(at%(1<<33), 0).UTC()
		after, ok := days.After(when)
		if len(wrong) > 0 && days.Has(when) || ok && days.Has(after) || after.Before(when.Truncate(24*time.Hour)) {
			t.Errorf("%q at %v: %v", entry, when, after)
		}
	})
}
