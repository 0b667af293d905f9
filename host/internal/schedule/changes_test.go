package schedule

import (
	"strings"
	"testing"
)

func TestClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, zone, from, want string }{
		{"a daily time in the gap", "0 30 2 * * ?", "Europe/Berlin", "2026-01-01T00:00:00Z", "on Sun 2026-03-29 it does not fire, because clocks are set forward over 02:30"},
		{"a time outside of it", "0 30 4 * * ?", "Europe/Berlin", "2026-01-01T00:00:00Z", ""},
		{"another day", "0 30 2 ? * MON", "Europe/Berlin", "2026-01-01T00:00:00Z", ""},
		{"the change is more than a year away", "0 30 2 29 3 ?", "Europe/Berlin", "2026-04-01T00:00:00Z", ""},
		{"every hour", "0 0 * * * ?", "Europe/Berlin", "2026-01-01T00:00:00Z", "on Sun 2026-10-25, when clocks are set back, it does not fire for 1h0m0s from 02:00 +02:00 on, until they show that time again"},
		{"twice in the hour that comes twice", "0 0/30 2 ? 10 *", "Europe/Berlin", "2026-01-01T00:00:00Z", ""},
		{"the last hour of a day is left out", "0 0 * * * ?", "America/Nuuk", "2026-01-01T00:00:00Z", "after Sat 2026-03-28 22:59, when clocks are set forward, it fires not before Mon 2026-03-30 00:00|on Sat 2026-10-24, when clocks are set back, it does not fire for 1h0m0s from 23:00 -01:00 on, until they show that time again"},
		{"gap at midnight", "0 0 0 * * ?", "America/Havana", "2026-01-01T00:00:00Z", "on Sun 2026-03-08 it does not fire, because clocks are set forward over 00:00"},
		{"half an hour", "0 * * * * ?", "Australia/Lord_Howe", "2026-01-01T00:00:00Z", "on Sun 2026-04-05, when clocks are set back, it does not fire for 30m0s from 01:30 +11:00 on, until they show that time again"},
		{"a zone without changes", "* * * * * ?", "Asia/Tokyo", "2026-01-01T00:00:00Z", ""},
		{"never", "0 0 0 0W * ?", "Europe/Berlin", "2026-01-01T00:00:00Z", ""},
		{"over", "0 30 2 * * ? 2025", "Europe/Berlin", "2026-01-01T00:00:00Z", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(parse(t, c.text, c.zone).ClockChanges(instant(t, c.from)), "|")
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
