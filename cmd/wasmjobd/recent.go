package main

import (
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

// lastRuns says in JSON how the newest runs of a job ended, on any server.
type lastRuns struct {
	LastState   string `json:"last_state,omitempty"` // of the newest run that ended
	LastRan     string `json:"last_ended,omitempty"`
	LastRanMs   int64  `json:"last_ended_unix_ms,omitempty"`
	Failures    int    `json:"failures_in_a_row"`
	FailingItem *int   `json:"failing_item,omitempty"` // the item of these failures
}

func lastRunsOf(r *operator.JobReport) lastRuns {
	l := &r.Latest
	out := lastRuns{LastState: l.State, LastRanMs: millis(l.Ended), Failures: l.Failures}
	out.LastRan = stamp(out.LastRanMs, time.UTC)
	if l.Failures > 0 {
		out.FailingItem = &l.Item
	}
	return out
}

// short returns the text for a column. A streak of one says no more than the state does.
func (l *lastRuns) short() string {
	if l.Failures < 2 {
		return orDash(plain(l.LastState))
	}
	return fmt.Sprintf("%s, %d failures in a row", plain(l.LastState), l.Failures)
}

// long returns the text for a line.
func (l *lastRuns) long(zone *time.Location) string {
	text := fmt.Sprintf("%s at %s", plain(l.LastState), stamp(l.LastRanMs, zone))
	if l.Failures > 0 {
		text += fmt.Sprintf("; item %d failed %s in a row", *l.FailingItem, count(l.Failures, "time"))
	}
	return text
}
