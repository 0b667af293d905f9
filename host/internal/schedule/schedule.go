// Package schedule says when jobs are due and tells them so.
//
// It reads the cron dialect of Quartz 2.2.1 (Parse) and, on request, Unix cron
// (ParseUnix), which takes clock changes as Debian's cron does; it loads time zones (LoadLocation, GMTZone) and holds the one
// Ticker that wakes every job of a server. It is not the place for misfire,
// overlap or pause: a tick carries the instant it stands for, and what a late
// or unwelcome tick means is decided by whoever receives it.
//
// The flow: Compile turns a job's text into a Schedule; Caveats and ClockChanges
// tell people what in a valid one was perhaps not meant; Ticker.Set keeps the
// schedule's next instant in a bucket of that whole second; when the second
// comes the bucket's entries are handed out in batches, and only then is each
// entry's following instant computed.
//
// Next of a Quartz schedule first searches on plain local date arithmetic
// (civil.go). Where that could differ from Quartz, that is near clock changes
// and for a few odd day rules, it replays Quartz's search step by step
// (rounds.go). Next of Unix cron searches on local dates alone, from one change of
// the clocks to the next (unix_next.go).
package schedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule gives instants one after the other: Next returns the first instant
// strictly after t, or the zero time for "never". Implementations in this
// package are immutable, return promptly and may be used by any goroutine.
type Schedule = cron.Schedule

// LastYear is the last year in which a schedule fires. Quartz fixes it to the
// current year plus 100 when its class is loaded; tests may pin it before they
// parse anything. It must not change while schedules are in use.
var LastYear = time.Now().UTC().Year() + 100

// Compile reads a job's schedule text in the named dialect ("quartz", also
// when empty, or "unix") and time zone (IANA name, empty for UTC).
func Compile(text, dialect, zone string) (Schedule, error) {
	loc, err := LoadLocation(zone)
	if err != nil {
		return nil, err
	}
	switch dialect {
	case "", "quartz":
		return Parse(text, loc)
	case "unix":
		return ParseUnix(text, loc)
	}
	return nil, fmt.Errorf("dialect %q is unknown; write quartz or unix", dialect)
}

// Quartz is a parsed cron expression bound to a time zone.
type Quartz struct {
	text  string
	loc   *time.Location
	f     fields
	notes []string
}

// String returns the text that was parsed.
func (q *Quartz) String() string { return q.text }

// Location returns the time zone the schedule is read in.
func (q *Quartz) Location() *time.Location { return q.loc }

// Caveats lists what in the text is valid for Quartz and surely not what its
// writer meant, such as letters that are ignored. It is empty as a rule.
func (q *Quartz) Caveats() []string { return q.notes }

// Next returns the first instant strictly after t that the schedule names, in
// the schedule's zone, or the zero time if there is none until the end of
// LastYear. It allocates nothing and its work is bounded.
func (q *Quartz) Next(t time.Time) time.Time {
	at, ok := q.f.next(q.loc, t.Unix()+1)
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0).In(q.loc)
}
