package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestLoadLocation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "UTC", "UTC": "UTC", "Europe/Berlin": "Europe/Berlin", "Etc/GMT+8": "Etc/GMT+8", "America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires"} {
		if loc, err := LoadLocation(name); err != nil || loc.String() != want {
			t.Errorf("%q: got %v, %v", name, loc, err)
		}
	}
	for _, name := range []string{"Local", "Mars/Base", "/etc/passwd", "../UTC", "Europe/../UTC", "Europe//Berlin", "Europe/", ".", "a\x00b", "C:\\x", "right/UTC", "posix/UTC", "GMT+8", strings.Repeat("a", 65), "zone.tab"} {
		if loc, err := LoadLocation(name); err == nil {
			t.Errorf("%q is accepted as %v", name, loc)
		}
	}
}

func TestGMTZone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"GMT": "GMT", "GMT0": "GMT0", "GMT+0": "GMT+0", "GMT-0": "GMT-0", "GMT-00:00": "GMT-00:00",
		"GMT+24:00": "GMT", "GMT+8:0": "GMT", "GMT 8": "GMT", "GMT+8:00:00": "GMT", "GMT+x": "GMT", "GMT+8x": "GMT", "GMT+08:00 ": "GMT",
		"GMT+23:59": "GMT+23:59", "GMT-1200": "GMT-12:00", "GMT+:30": "GMT+00:30", "GMT+008": "GMT+00:08", "GMTX": "GMT",
	} {
		loc, ok, err := GMTZone(text)
		if err != nil || !ok || loc.String() != want {
			t.Errorf("%q: got %v, %v, %v, want %s", text, loc, ok, err, want)
		}
	}
	for _, text := range []string{"gmt", "UTC", "UTC+8", " GMT"} {
		if _, _, err := GMTZone(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestClockShift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone  string
		day   [3]int
		shift time.Duration
	}{
		{"America/New_York", [3]int{2026, 3, 8}, time.Hour},
		{"America/New_York", [3]int{2026, 11, 1}, -time.Hour},
		{"America/New_York", [3]int{2026, 11, 2}, 0},
		{"Australia/Lord_Howe", [3]int{2026, 10, 4}, 30 * time.Minute},
		{"America/Sao_Paulo", [3]int{2018, 11, 4}, time.Hour},
		{"America/Sao_Paulo", [3]int{2018, 11, 3}, 0},
		{"America/Sao_Paulo", [3]int{2018, 2, 17}, -time.Hour},
		{"America/Havana", [3]int{2026, 11, 1}, -time.Hour},
		{"America/Havana", [3]int{2026, 10, 31}, 0},
		{"UTC", [3]int{2026, 3, 8}, 0},
	} {
		at := time.Date(c.day[0], time.Month(c.day[1]), c.day[2], 15, 0, 0, 0, location(t, c.zone))
		if got := ClockShift(at); got != c.shift {
			t.Errorf("%s %v: got %v, want %v", c.zone, c.day, got, c.shift)
		}
	}
}
