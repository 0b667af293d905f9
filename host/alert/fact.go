package alert

import (
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Kinds of alerts.
const (
	Failed  = "failed"   // a run failed, was too slow, or ended with its server
	Missed  = "missed"   // an instant came at which no run began
	Late    = "late"     // an item has not ended in the time that the job expects
	TooLong = "too_long" // a run takes longer than the job expects
	// Recovered is sent when an alert of another kind is over.
	Recovered = "recovered"
)

// again is the least time between two messages about an alert that goes on.
const again = time.Hour

// fact is something that this server has seen of items of a job.
type fact struct {
	job    string
	kind   string // what is wrong; or of an end: which alerts it may end, "" for all but Late
	over   bool   // the items are all right
	items  []int
	count  int64
	at     int64 // Unix ms
	text   string
	notify []string
}

// apply changes the alerts by a fact, and reports whether it did. A new alert is sent
// after gather, so that one message has all facts that are alike. While a job is silenced,
// only the ends of its alerts count.
func apply(a *clustertree.Alerts, f *fact, gather time.Duration) (changed bool) {
	if f.over {
		for i := range a.All {
			if one := &a.All[i]; one.Job == clustertree.AlertJob(f.job) && ends(f.kind, one.Kind) && one.Over == 0 {
				changed = endItems(one, f) || changed
			}
		}
		return changed
	}
	if a.Silenced(f.job, f.at) {
		return false
	}
	send := f.at + gather.Milliseconds()
	one := a.Find(f.job, f.kind)
	if one == nil {
		return a.Add(clustertree.Alert{
			Job: f.job, Kind: f.kind, Items: f.items, Count: f.count, First: f.at, Last: f.at, Text: f.text, Notify: f.notify, Left: f.notify, After: send,
		})
	}
	one.Items = append(slices.Clone(one.Items), f.items...)
	one.Count, one.Last, one.Text, one.Notify = one.Count+f.count, f.at, f.text, f.notify
	reopened := one.Over != 0 && one.Sent != 0
	goesOn := len(one.Left) == 0 && f.at-one.Sent >= again.Milliseconds()
	if reopened || goesOn {
		one.Left, one.After, one.Tries = f.notify, send, 0
	}
	one.Over = 0
	return true
}

// ends reports whether a fact that is over, of kind end, may end an alert of a kind. Only an
// item that has ended is not late any more, and that says nothing of other alerts.
func ends(end, kind string) bool {
	if kind == Late || end == Late {
		return end == kind
	}
	return true
}

// endItems takes the items of a fact out of an alert, and reports whether that changed it.
// The alert is over with the last of them. If it was not sent yet, it still will be.
func endItems(one *clustertree.Alert, f *fact) bool {
	left := slices.DeleteFunc(slices.Clone(one.Items), func(i int) bool { return slices.Contains(f.items, i) })
	if f.kind == Late {
		left = nil
	}
	if len(left) == len(one.Items) && len(left) > 0 {
		return false
	}
	if len(left) > 0 {
		one.Items = left
		return true
	}
	if one.Over = f.at; one.Sent != 0 {
		one.Left, one.After, one.Tries = one.Notify, f.at, 0
	}
	return true
}

// wrong returns the kind of alert that a row makes; "": none.
func wrong(r *trace.Row) string {
	switch r.State {
	case trace.Failed, trace.TimedOut, trace.Interrupted, trace.Lost:
		return Failed
	case trace.Missed:
		if !intended(r.Reason.Code) {
			return Missed
		}
	case trace.Running, trace.Succeeded, trace.Cancelled, trace.Skipped, trace.TakenOver, trace.Retried:
	}
	return ""
}
