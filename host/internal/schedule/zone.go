package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a server without zone files knows the same zones
)

const maxZone = 64 // bytes in the name of a zone; the longest real one has 32

// LoadLocation loads a time zone by its IANA name, or as an offset from GMT in the form
// of ElasticJob 3; the empty name is UTC. It refuses texts that do not look like zone
// names, so that none reaches the file system as a path, and the server's own zone
// ("Local"), which would differ between servers.
func LoadLocation(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	// GMT with a sign behind it is an offset; GMT alone is also an IANA name.
	if offset, is := strings.CutPrefix(name, "GMT"); is && strings.HasPrefix(strings.Replace(offset, "-", "+", 1), "+") {
		if _, ok := gmtOffset(offset); !ok {
			return nil, fmt.Errorf("time zone %.100q is no offset, and ElasticJob takes it for GMT; write GMT, or an offset such as GMT+08:00", name)
		}
		loc, _, err := GMTZone(name)
		return loc, err
	}
	if err := zoneName(name); err != nil {
		return nil, err
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is unknown; write an IANA name such as Europe/Berlin or UTC", name)
	}
	return loc, nil
}

// zoneName refuses a text that is no IANA name, or whose zone differs between servers.
func zoneName(name string) error {
	if len(name) > maxZone {
		return fmt.Errorf("time zone has a name of %d bytes; write an IANA name such as Europe/Berlin", len(name))
	}
	if name == "Local" {
		return fmt.Errorf("time zone Local differs from server to server; write an IANA name such as Europe/Berlin")
	}
	for part := range strings.SplitSeq(name, "/") {
		// "right" and "posix" hold other versions of the zones; the first counts leap
		// seconds.
		odd := strings.IndexFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '+'
		})
		if part == "" || part == "right" || part == "posix" || odd >= 0 {
			return fmt.Errorf("time zone %q is not a zone name; write an IANA name such as Europe/Berlin", name)
		}
	}
	return nil
}

// GMTZone parses the time zone of an ElasticJob 3 configuration. An empty text
// means the default zone of the process (ok is then false). Other texts must begin
// with GMT; if Java cannot parse the rest as an offset, the zone is GMT itself.
func GMTZone(s string) (loc *time.Location, ok bool, err error) {
	if s == "" {
		return nil, false, nil
	}
	if !strings.HasPrefix(s, "GMT") {
		return nil, false, fmt.Errorf("time zone %q is not one that ElasticJob knows; write GMT or an offset such as GMT+08:00", s)
	}
	if s == "GMT0" {
		return time.FixedZone(s, 0), true, nil // Java has a zone with this name
	}
	seconds, ok := gmtOffset(s[len("GMT"):])
	if !ok {
		return time.FixedZone("GMT", 0), true, nil
	}
	minutes := max(seconds, -seconds) / 60
	sign := '+'
	if s[len("GMT")] == '-' {
		sign = '-'
	}
	return time.FixedZone(fmt.Sprintf("GMT%c%02d:%02d", sign, minutes/60, minutes%60), seconds), true, nil
}

// gmtOffset reads +h, +hh, +hmm, +hhmm, +h:mm and +hh:mm, or the same with a
// minus, into seconds.
func gmtOffset(s string) (seconds int, ok bool) {
	if len(s) < 2 || len(s) > 10 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, minutes, colon := strings.Cut(s[1:], ":")
	if !colon {
		// One or two digits are hours; of more, the last two are minutes.
		if n := len(hours); n > 2 {
			hours, minutes = hours[:n-2], hours[n-2:]
		}
	} else if len(hours) > 2 || len(minutes) != 2 {
		return 0, false
	}
	h, okH := digits(hours)
	m, okM := digits(minutes)
	if !okH || !okM || h > 23 || m > 59 {
		return 0, false
	}
	seconds = h*3600 + m*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// digits parses ASCII digits; an empty text is zero.
func digits(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}
