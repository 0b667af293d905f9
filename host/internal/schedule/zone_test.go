package schedule

import (
	"strings"
	"testing"
)

func TestLoadLocation(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "UTC", "UTC": "UTC", "Europe/Berlin": "Europe/Berlin", "Etc/GMT+8": "Etc/GMT+8", "America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires", "GMT": "GMT", "GMT+8": "GMT+08:00", "GMT-03:30": "GMT-03:30", "GMT-0": "GMT-00:00"} {
		if loc, err := LoadLocation(name); err != nil || loc.String() != want {
			t.Errorf("%q: got %v, %v", name, loc, err)
		}
	}
	for _, name := range []string{"Local", "Mars/Base", "/etc/passwd", "../UTC", "Europe/../UTC", "Europe//Berlin", "Europe/", ".", "a\x00b", "C:\\x", "right/UTC", "posix/UTC", "GMT+", "GMT+8:60", "GMT-25", "GMT+x", strings.Repeat("a", 65), "zone.tab"} {
		if loc, err := LoadLocation(name); err == nil {
			t.Errorf("%q is accepted as %v", name, loc)
		}
	}
}

func TestGMTZone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"GMT": "GMT", "GMT0": "GMT0", "GMT+0": "GMT+00:00", "GMT-0": "GMT-00:00", "GMT-00:00": "GMT-00:00",
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
