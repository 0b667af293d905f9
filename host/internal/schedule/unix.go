package schedule

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseUnix parses the five fields of Unix cron (minute, hour, day of month, month,
// day of week with 0 for Sunday) or one of the words @hourly, @daily, @weekly,
// @monthly, @yearly, @every <duration>. Clock changes are handled as Unix.Next
// describes. Instants of @every are counted from 1 January 1970, so that they are
// the same on every server.
func ParseUnix(text string, loc *time.Location) (Schedule, error) {
	if err := checkText(text, loc); err != nil {
		return nil, err
	}
	trimmed := strings.TrimSpace(text)
	// robfig's parser would accept a zone here, and panics when nothing follows.
	if strings.HasPrefix(trimmed, "TZ=") || strings.HasPrefix(trimmed, "CRON_TZ=") {
		return nil, &Error{Text: text, Reason: "names a time zone; set timezone in the job instead"}
	}
	parsed, err := cron.ParseStandard(trimmed)
	if err != nil {
		return nil, &Error{Text: text, Reason: "is not Unix cron: " + err.Error() + unixHint(strings.Fields(trimmed))}
	}
	switch s := parsed.(type) {
	case *cron.SpecSchedule:
		if parts := strings.Fields(trimmed); len(parts) == 5 {
			star := func(k int) bool { return strings.ContainsAny(parts[k][:1], "*?") }
			return &Unix{text: text, loc: loc, f: unixFields(s, star(2) || star(4)), fixed: !star(0) && !star(1)}, nil
		}
		return &Unix{text: text, loc: loc, f: unixFields(s, true), fixed: trimmed != "@hourly"}, nil
	case cron.ConstantDelaySchedule:
		// robfig's parser rounds durations down to whole seconds, and less than one
		// second up.
		asked, err := time.ParseDuration(strings.TrimPrefix(trimmed, "@every "))
		if err != nil || asked != s.Delay {
			return nil, &Error{Text: text, Reason: "does not repeat after a whole number of seconds; write for example @every 90s"}
		}
		return every{int64(s.Delay / time.Second)}, nil
	}
	return nil, &Error{Text: text, Reason: "is a kind of schedule that is not supported"}
}

// unixHint returns advice for a text that is nearly Unix cron.
func unixHint(fields []string) string {
	switch n := len(fields); {
	case n == 5 && strings.Contains(fields[4], "7"):
		return "; write 0 for Sunday"
	case n == 6 || n == 7:
		return `; six or seven fields are dialect = "quartz"`
	}
	return ""
}

const unixStar = 1 << 63 // robfig's mark for a field that holds *

// unixFields converts the bit sets of a parsed Unix schedule, in which days of the week
// count from 0. both says that a day must be in both lists of days, since one of them
// begins with a star, as cron does it even if a step follows. Otherwise one list suffices.
func unixFields(s *cron.SpecSchedule, both bool) fields {
	f := fields{
		second:   s.Second &^ unixStar,
		minute:   s.Minute &^ unixStar,
		hour:     uint32(s.Hour &^ unixStar),
		days:     uint32(s.Dom &^ unixStar),
		month:    uint16(s.Month &^ unixStar),
		weekdays: uint8(s.Dow << 1),
		lastYear: int32(clampYear(LastYear)),
		rule:     byEither,
	}
	if both {
		f.rule = byBoth
	}
	for y := firstYear; y <= int(f.lastYear); y++ {
		f.addYear(y)
	}
	if f.minute == 0 || f.hour == 0 || f.month == 0 || f.days == 0 && f.weekdays == 0 {
		f.never = "a field lists nothing"
		return f
	}
	f.seal()
	return f
}

// every fires at the multiples of a number of seconds since 1970.
type every struct{ seconds int64 }

// Next returns the first multiple that is strictly after t.
func (e every) Next(t time.Time) time.Time {
	now := t.Unix()
	return time.Unix(now-now%e.seconds+e.seconds, 0).In(t.Location())
}
