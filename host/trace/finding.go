package trace

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind is the kind of a Finding.
type Kind string

const (
	// Missing: instants with neither a run nor a gap.
	Missing Kind = "missing"
	// Doubled: a run that ended more than once, or an attempt with two rows.
	Doubled Kind = "doubled"
	// Overlap: instants in a gap and also in a run or another gap.
	Overlap Kind = "overlap"
	// WrongCount: the count of a gap differs from the number of instants in the schedule.
	WrongCount Kind = "count"
	// Dangling: the last attempt says that another follows, and none does.
	Dangling Kind = "dangling"
	// Hole: the attempts of a run are not numbered 1, 2, 3 and so on.
	Hole Kind = "hole"
	// Unscheduled: a run, or an end of a gap, at no instant of the schedule.
	Unscheduled Kind = "unscheduled"
	// Malformed: a row contradicts itself.
	Malformed Kind = "malformed"
)

// Finding is one disagreement of rows and schedule.
type Finding struct {
	Kind Kind
	Job  string
	Item int
	// Run is the run id of the faulty row; empty if there is no row.
	Run     string
	Attempt int
	// First and Last bound the instants concerned, in Unix milliseconds.
	First, Last int64
	// Count is the number of scheduled instants from First through Last, or 0 if it has no
	// meaning.
	Count  int64
	Detail string
}

// String returns one line for people, with times in UTC.
func (f Finding) String() string { return f.Text(time.UTC) }

// Text returns one line for people, with times in zone.
func (f Finding) Text(zone *time.Location) string {
	at := moment(f.First, zone)
	if f.Last != f.First {
		at += " to " + moment(f.Last, zone)
	}
	return fmt.Sprintf("%s: %s item %d, %s: %s", f.Kind, f.Job, f.Item, at, f.Detail)
}

// MarshalJSON writes times both as RFC 3339 in UTC and as Unix milliseconds.
func (f Finding) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(struct {
		Kind    Kind   `json:"kind"`
		Job     string `json:"job"`
		Item    int    `json:"item"`
		Run     string `json:"run,omitempty"`
		Attempt int    `json:"attempt,omitempty"`
		First   string `json:"first"`
		FirstMs int64  `json:"first_unix_ms"`
		Last    string `json:"last"`
		LastMs  int64  `json:"last_unix_ms"`
		Count   int64  `json:"count,omitempty"`
		Detail  string `json:"detail"`
	}{f.Kind, f.Job, f.Item, f.Run, f.Attempt, moment(f.First, time.UTC), f.First,
		moment(f.Last, time.UTC), f.Last, f.Count, f.Detail})
	if err != nil {
		return nil, fmt.Errorf("encode a finding: %w", err)
	}
	return b, nil
}

// moment formats a time, to the millisecond.
func moment(ms int64, zone *time.Location) string {
	return time.UnixMilli(ms).In(zone).Format("2006-01-02T15:04:05.999Z07:00")
}
