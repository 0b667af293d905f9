// Package schedule computes when jobs are due, and delivers ticks to them.
//
// It parses the cron dialect of Quartz 2.2.1 (Parse) and, on request, Unix cron
// (ParseUnix), which handles clock changes as Debian's cron does. It loads time
// zones (LoadLocation, GMTZone) and has the one Ticker that wakes all jobs of a
// server. It decides nothing about misfires, overlaps or pauses: a tick carries its
// instant, and the receiver decides what a late or unwanted tick means.
//
// Flow: Compile turns a job's text into a Schedule; Warnings and ClockChanges describe
// parts of a valid schedule that may be unintended; Ticker.Set puts the schedule into the
// bucket of the second of its next instant; when that second comes, the entries of the
// bucket are delivered in batches, and only then is the next instant of each computed.
//
// Next of a Quartz schedule first searches with plain local dates (civil.go). Where
// that could differ from Quartz, which is near clock changes and for a few odd day
// rules, it replays Quartz's search step by step (search.go). Next of Unix cron
// searches on local dates alone, from one clock change to the next (unix_next.go).
package schedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule yields instants in order: Next returns the first instant strictly after
// t, or the zero time for "never". Implementations in this package are immutable,
// return promptly and are safe for concurrent use.
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
	text     string
	loc      *time.Location
	f        fields
	warnings []string
}

// String returns the text that was parsed.
func (q *Quartz) String() string { return q.text }

// Location returns the time zone the schedule is read in.
func (q *Quartz) Location() *time.Location { return q.loc }

// Warnings lists parts of the text that are valid for Quartz but surely unintended, such
// as letters that are ignored. It is usually empty.
func (q *Quartz) Warnings() []string { return q.warnings }

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
