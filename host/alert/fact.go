package alert

import (
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Kinds of alerts.
const (
	Failed  = "failed"   // a run failed, timed out, or ended with its server
	Missed  = "missed"   // an instant came at which no run began
	Late    = "late"     // an item has not ended in the time that the job expects
	TooLong = "too_long" // a run takes longer than the job expects
	// Recovered is sent when an alert of another kind is over.
	Recovered = "recovered"
)

// skew is how far the clocks of two servers may be apart for the end of a run to count as newer
// than a failure.
const skew = 10 * time.Second

// again is the least time between two messages about a lasting alert.
const again = time.Hour

// fact is an observation of this server about items of a job.
type fact struct {
	job   string
	kind  string // of the problem; of an end, the kind of alerts that it may end, "" for all but Late
	over  bool   // the problem has ended
	items []int  // ascending
	count int64
	at    int64 // when it was observed, Unix ms
	// when it happened: a missed instant, or the end of a run. It is earlier than at if a server
	// reports rows of a dead member again.
	when    int64
	instant int64 // of the run that has ended a problem
	text    string
	bare    bool // text is only the state, as in a row that another server reports again
	notify  []string
}

// applyAll changes the alerts by facts. If there is no room for a new alert, it removes one that
// is over. It returns how many it removed, and for how many new ones there was no room even so.
func applyAll(a *clustertree.Alerts, facts []*fact, gather time.Duration) (changed bool, removed, lost int) {
	for _, f := range facts {
		switch {
		case apply(a, f, gather):
			changed = true
		case f.over || a.Silenced(f.job, f.at):
		case removeOver(a):
			removed++
			changed = apply(a, f, gather) || changed
		default:
			lost++
		}
	}
	return changed, removed, lost
}

// removeOver removes the alert that was over first, of those that wait only for notifiers which
// could not be reached. It reports whether there was one.
func removeOver(a *clustertree.Alerts) bool {
	oldest := -1
	for i := range a.All {
		if one := &a.All[i]; recovering(one) && one.Tries > 0 && (oldest < 0 || one.Over < a.All[oldest].Over) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	a.All = slices.Delete(slices.Clone(a.All), oldest, oldest+1)
	return true
}

// apply changes the alerts by a fact, and reports whether it did. A new alert is sent
// after gather, so that one message has all similar facts. One that comes back after a notifier
// has received it is a new one. One that goes on is sent again an hour after a notifier last
// received it, unless all notifiers are still to receive it. While a job is silenced, only the
// ends of its alerts count.
func apply(a *clustertree.Alerts, f *fact, gather time.Duration) (changed bool) {
	if f.over {
		for i := range a.All {
			if one := &a.All[i]; one.Job == clustertree.AlertJob(f.job) && ends(f.kind, one.Kind) && one.Over == 0 && !older(f, one) {
				changed = endItems(one, f) || changed
			}
		}
		return changed
	}
	if a.Silenced(f.job, f.at) {
		return false
	}
	raised := clustertree.Alert{
		Job: clustertree.AlertJob(f.job), Kind: f.kind, Count: f.count, First: f.when, Last: f.when, Text: f.text, Notify: f.notify,
		Left: f.notify, After: f.at + gather.Milliseconds(),
	}
	raised.AddItems(f.items)
	one := a.Find(f.job, f.kind)
	switch {
	case one == nil:
		return a.Add(raised)
	case recovering(one):
		*one = raised
		return true
	}
	if goesOn := one.Sent != 0 && !slices.Equal(one.Left, one.Notify) && f.at-one.Sent >= again.Milliseconds(); goesOn {
		one.Left, one.After, one.Tries = raised.Left, raised.After, 0
	}
	one.AddItems(f.items)
	one.Count, one.Last, one.Notify, one.Over = one.Count+f.count, max(one.Last, f.when), f.notify, 0
	if !f.bare {
		one.Text = f.text
	}
	return true
}

// ends reports whether the end of a problem, with kind end, may end an alert of a kind. Only
// an end of kind Late may end a Late alert, and it may end no other: a run that succeeds does not
// show that all items have ended in time.
func ends(end, kind string) bool {
	if kind == Late || end == Late {
		return end == kind
	}
	return true
}

// older reports whether a success is older than the newest problem of an alert, and so does not
// end it.
func older(f *fact, one *clustertree.Alert) bool {
	switch {
	case f.kind == Late:
		return false
	case one.Kind == Missed: // both are instants of the schedule, so clocks do not matter
		return f.instant < one.Last
	}
	return f.when+skew.Milliseconds() < one.Last
}

// endItems removes the items of a fact from an alert, and reports whether that changed it.
// Without items, the alert is over. If it was not sent yet, it still will be.
func endItems(one *clustertree.Alert, f *fact) bool {
	left := one.ItemsWithout(f.items)
	if f.kind == Late { // the job as a whole is no longer late
		left = nil
	}
	if slices.Equal(left, one.Items) && len(left) > 0 { // the alert is about other items
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

// wrong returns the kind of alert that a row raises; "": none.
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
