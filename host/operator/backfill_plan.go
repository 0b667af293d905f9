package operator

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
)

// backfillPlan is what the items of a request have in common.
type backfillPlan struct {
	name   string
	r      BackfillRange
	view   *protocol.View
	config job.Config
	due    []int64 // the instants of the present schedule in the range
}

// schedule sets due to the past instants of the present schedule.
func (p *backfillPlan) schedule() error {
	if p.config.Cron == "" {
		return nil
	}
	all, err := p.between(p.config.Cron, p.r.From, p.r.To)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	p.due = slices.DeleteFunc(all, func(t int64) bool { return t > now })
	return nil
}

// between returns the instants of a schedule in [from, to).
func (p *backfillPlan) between(cron string, from, to time.Time) ([]int64, error) {
	c := p.config
	c.Cron = cron
	s, err := schedule.Of(c)
	if err != nil {
		return nil, nil //nolint:nilerr // it names no instants, and the faults of the job say so
	}
	var all []int64
	for t := s.Next(from.Add(-time.Nanosecond)); !t.IsZero() && t.Before(to); t = s.Next(t) {
		if len(all) == maxBackfilled {
			return nil, failf(host.Invalid, nil, "%s job %s: the range has more than %d instants; choose a shorter one", verbBackfill.words, p.name, maxBackfilled)
		}
		all = append(all, t.UnixMilli())
	}
	return all, nil
}

// item returns the instants that item i can begin, by its rows, and adds to b what it leaves out.
func (p *backfillPlan) item(i int, rows []trace.Row, b *Backfill) (BackfillItem, error) {
	missed, why := map[int64]bool{}, map[int64]string{} // by instant; one with a why is left out, even if it was missed
	// Of several attempts the last one decides, so its row comes last.
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b trace.Row) int { return cmp.Compare(a.Attempt, b.Attempt) })
	for k := range rows {
		if err := p.row(&rows[k], missed, why); err != nil {
			return BackfillItem{}, err
		}
	}
	for _, t := range p.due {
		if !missed[t] && why[t] == "" {
			why[t] = "the history that was read has no row of it"
		}
	}
	p.open(i, why)
	itself := whyNotItem(p.view, i) // holds for each of its instants
	it := BackfillItem{Item: i}
	for t := range missed {
		switch {
		case why[t] != "":
		case itself != "":
			why[t] = itself
		default:
			it.Instants = append(it.Instants, time.UnixMilli(t))
		}
	}
	slices.SortFunc(it.Instants, time.Time.Compare)
	if len(it.Instants) > maxBackfilled {
		return it, failf(host.Invalid, nil, "%s job %s: item %d missed more than %d instants in that range; choose a shorter one", verbBackfill.words, p.name, i, maxBackfilled)
	}
	b.leaveOut(i, why)
	return it, nil
}

// row notes what one row says about instants in the range: that they were missed, or why they do not begin
// in a backfill.
func (p *backfillPlan) row(r *trace.Row, missed map[int64]bool, why map[int64]string) error {
	from, to := p.r.From, p.r.To
	if r.Count == 0 { // the row of an attempt, not of a gap
		at := time.UnixMilli(r.Instant)
		switch {
		case r.Run != strconv.FormatInt(r.Instant, 10) || at.Before(from) || !at.Before(to): // of a trigger, or not in the range
		case r.State == trace.Missed:
			missed[r.Instant] = true
		case endedBadly(r.State):
			why[r.Instant] = "it ran and is " + string(r.State) + "; job retry runs it again"
		default:
			why[r.Instant] = "its row says " + string(r.State)
		}
		return nil
	}
	// The gap goes from r.Instant to r.Last. Only its part in the range counts.
	if first := time.UnixMilli(r.Instant); first.After(from) {
		from = first
	}
	if end := time.UnixMilli(r.Last + 1); end.Before(to) {
		to = end
	}
	if !from.Before(to) {
		return nil
	}
	if r.Schedule == "" { // of an older release
		for _, t := range p.due {
			if at := time.UnixMilli(t); !at.Before(from) && at.Before(to) {
				why[t] = "its row does not say from which schedule it comes"
			}
		}
		return nil
	}
	all, err := p.between(r.Schedule, from, to) // the schedule may have changed since
	for _, t := range all {
		if r.State == trace.Missed {
			missed[t] = true
		} else {
			why[t] = "its row says " + string(r.State)
		}
	}
	return err
}

// open notes the instants of item i in the range whose run is open or waits: an earlier row may still say that
// they were missed, and such a run has no row yet.
func (p *backfillPlan) open(i int, why map[int64]string) {
	note := func(e protocol.Entry) {
		t := e.Instant
		if e.Trigger != "" { // of a backfill or a retry, the id of the run is the instant; else it has none
			t, _ = strconv.ParseInt(e.Trigger, 10, 64)
		}
		if at := time.UnixMilli(t); e.Item == i && !at.Before(p.r.From) && at.Before(p.r.To) {
			why[t] = "it has begun"
		}
	}
	for _, r := range p.view.Runs {
		for _, e := range r.Open {
			note(e)
		}
		for _, t := range r.Retries {
			note(t.Entry)
		}
	}
	for _, t := range p.view.Pending {
		note(t.Entry)
	}
}

// whyNotItem is why an item cannot get a backfill; empty: it can.
func whyNotItem(v *protocol.View, i int) string {
	switch {
	case i >= len(v.Items) || i >= v.Config.Total:
		return "there is no such item"
	case v.Items[i].Disabled:
		return "the item is disabled"
	case slices.ContainsFunc(v.Backfills, func(f protocol.Backfill) bool { return f.Item == i }):
		return "instants of the item wait already; wait, or cancel that backfill"
	}
	return ""
}

// leaveOut reports the instants of an item that do not begin, grouped by reason.
func (b *Backfill) leaveOut(i int, why map[int64]string) {
	of := map[string]*BackfillLeftOut{}
	var all []*BackfillLeftOut
	for t, text := range why {
		x, at := of[text], time.UnixMilli(t)
		if x == nil {
			x = &BackfillLeftOut{Item: i, Why: text, First: at, Last: at}
			of[text] = x
			all = append(all, x)
		}
		x.Count++
		if at.Before(x.First) {
			x.First = at
		}
		if at.After(x.Last) {
			x.Last = at
		}
	}
	slices.SortFunc(all, func(x, y *BackfillLeftOut) int {
		if c := x.First.Compare(y.First); c != 0 {
			return c
		}
		return strings.Compare(x.Why, y.Why)
	})
	for _, x := range all {
		b.LeftOut = append(b.LeftOut, *x)
	}
}
