package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	// maxBackfilled is the limit of instants in a range.
	maxBackfilled = protocol.MaxBackfill
	// maxBackfillRuns is the limit of runs in a request, so that it fits into a transaction.
	maxBackfillRuns = 10_000
)

// BackfillRange selects the instants of a backfill: those in [From, To) that have a row of the
// state missed.
type BackfillRange struct {
	From, To time.Time
	Items    []int  // none: all
	Key      string // an idempotency key, as for TriggerOnce; "": none
	DryRun   bool   // only report
	// Force ignores histories that cannot be read, although one may say that an instant ran.
	Force bool
}

// Backfill is the result of a request for a backfill.
type Backfill struct {
	Job    string         `json:"job"`
	DryRun bool           `json:"dry_run"`
	Again  bool           `json:"again,omitempty"` // its key was used before, and nothing was requested now
	Items  []BackfillItem `json:"items"`
	// LeftOut are the instants of the range that do not begin, and why.
	LeftOut []BackfillLeftOut `json:"left_out"`
	// Paused: the job is paused, and begins the instants after the pause.
	Paused bool `json:"paused,omitempty"`
}

// BackfillItem is the instants of an item, the oldest first.
type BackfillItem struct {
	Item     int         `json:"item"`
	Instants []time.Time `json:"instants"`
}

// BackfillLeftOut is instants of an item that a backfill leaves out for the same reason.
type BackfillLeftOut struct {
	Item  int       `json:"item"`
	Why   string    `json:"why"`
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

var (
	verbBackfill       = verb{"backfill", "backfill"}
	verbCancelBackfill = verb{"cancel the backfill of", "backfill --cancel"}
)

// Backfill requests runs for the instants of a range that have a row of the state missed, in
// the history that Recall set or in the registry. The instants wait in the registry. The owners
// of their items begin them one after the other, the oldest first, each under the id that its
// run would have had. While instants of an item wait, it gets no further backfill.
func (o *Operator) Backfill(ctx context.Context, name string, r BackfillRange) (Backfill, error) {
	b := Backfill{Job: name, DryRun: r.DryRun, Items: []BackfillItem{}, LeftOut: []BackfillLeftOut{}}
	use, err := newOnce(verbBackfill, r.Key)
	if err == nil && len(r.Items) > 0 {
		r.Items, err = askedItems(verbBackfill, name, r.Items)
	}
	var planned int32 // version of the assignment for which the plan holds
	if err == nil {
		planned, err = o.planBackfill(ctx, name, r, &b)
	}
	if err != nil || r.DryRun {
		return b, err
	}
	err = o.askBy(ctx, request{verb: verbBackfill, job: name, single: true, once: use, wish: func(v *protocol.View) (protocol.Ask, deed, error) {
		queues, runs := o.queues(b.Items)
		items := r.Items
		if len(items) == 0 { // all items were wanted: name those that get something
			for _, f := range queues {
				items = append(items, f.Item)
			}
		}
		if why := whyNotBackfilled(v, items, &b); why != "" {
			return nil, deed{}, failf(host.Refused, nil, "%s job %s: %s", verbBackfill.words, name, why)
		}
		if v.Assignment.Version != planned { // each request for a backfill changes it
			return nil, deed{}, failf(host.Unavailable, nil, "%s job %s: another backfill was asked for, or items have moved, while the histories were read; ask again", verbBackfill.words, name)
		}
		detail := fmt.Sprintf("from=%s to=%s runs=%d items=%s", stampOf(r.From), stampOf(r.To), runs, itemsText(items))
		return protocol.AskBackfill{Queues: queues}, deed{detail: detail}, nil
	}})
	if use != nil && use.repeated() {
		b.Again, b.Items, b.LeftOut = true, []BackfillItem{}, []BackfillLeftOut{}
	}
	return b, err
}

// whyNotBackfilled is why the plan b for these items cannot be requested; empty: it can.
func whyNotBackfilled(v *protocol.View, items []int, b *Backfill) string {
	if why := whyNotByItem(v, items); why != "" {
		return why
	}
	switch {
	case len(b.Items) > 0:
		return ""
	case len(b.LeftOut) > 0:
		return fmt.Sprintf("nothing in that range can run; item %d: %s; a dry run shows all reasons", b.LeftOut[0].Item, b.LeftOut[0].Why)
	}
	return "its schedule has no instant in that range"
}

// CancelBackfill drops the instants that wait for a backfill, of these items or, without any, of
// all. Open runs go on.
func (o *Operator) CancelBackfill(ctx context.Context, name string, items []int) error {
	if len(items) > 0 {
		var err error
		if items, err = askedItems(verbCancelBackfill, name, items); err != nil {
			return err
		}
	}
	return o.askBy(ctx, request{verb: verbCancelBackfill, job: name, wish: func(*protocol.View) (protocol.Ask, deed, error) {
		d := deed{detail: "all"}
		if len(items) > 0 {
			d.detail = "items=" + itemsText(items)
		}
		return protocol.AskCancelBackfill{Items: items}, d, nil
	}})
}

// queues converts a plan to backfills of the core, and counts their runs. It cuts a long name of the
// operator to what the core stores.
func (o *Operator) queues(items []BackfillItem) ([]protocol.Backfill, int) {
	var all []protocol.Backfill
	runs := 0
	by := o.author.Name
	for len(by) > protocol.MaxBackfillBy {
		by = strings.ToValidUTF8(by[:protocol.MaxBackfillBy], "")
	}
	for _, it := range items {
		f := protocol.Backfill{Item: it.Item, By: by}
		for _, t := range it.Instants {
			f.Instants = append(f.Instants, t.UnixMilli())
		}
		all, runs = append(all, f), runs+len(f.Instants)
	}
	return all, runs
}

// stampOf is a time in errors and in the audit.
func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// planBackfill adds to b which instants of a range can run. That holds while the assignment has
// the returned version.
func (o *Operator) planBackfill(ctx context.Context, name string, r BackfillRange, b *Backfill) (version int32, err error) {
	if !r.From.Before(r.To) || r.From.Unix() < 0 || r.To.After(time.Now().Add(farAhead)) {
		return 0, failf(host.Invalid, nil, "%s job %s: nothing lies between %s and %s", verbBackfill.words, name, stampOf(r.From), stampOf(r.To))
	}
	v, l, _, err := o.editableView(ctx, verbBackfill.words, name, o.wholly)
	if err != nil {
		return 0, err
	}
	items := r.Items
	if len(items) == 0 {
		items = indexes(min(v.Config.Total, len(v.Items)))
	}
	if len(items) > maxAsked {
		return 0, failf(host.Invalid, nil, "%s job %s: %d items are more than the %d of one request; say which", verbBackfill.words, name, len(items), maxAsked)
	}
	if why := whyNotByItem(v, r.Items); r.DryRun && why != "" { // a real request checks it when it is written
		return 0, failf(host.Refused, nil, "%s job %s: %s", verbBackfill.words, name, why)
	}
	b.Paused = v.PausedAt(time.Now().UnixMilli())
	p := &backfillPlan{name: name, r: r, view: v}
	if c := o.report(l, name, v).Config; c != nil {
		p.config = *c
	}
	if err := p.schedule(); err != nil {
		return 0, err
	}
	kept := keptRows(l, name, v)
	runs := 0
	for _, i := range items {
		rows, err := o.rowsOf(ctx, name, i, r, kept)
		if err != nil {
			return 0, err
		}
		it, err := p.item(i, rows, b)
		if err != nil {
			return 0, err
		}
		if len(it.Instants) > 0 {
			b.Items = append(b.Items, it)
		}
		if runs += len(it.Instants); runs > maxBackfillRuns {
			return 0, failf(host.Invalid, nil, "%s job %s: these are more than the %d runs of one request; choose fewer items, or a shorter range", verbBackfill.words, name, maxBackfillRuns)
		}
	}
	return v.Assignment.Version, nil
}

// rowsOf returns the rows of an item from the history and the registry. kept are those of all items in the
// registry.
func (o *Operator) rowsOf(ctx context.Context, name string, item int, r BackfillRange, kept []KeptRow) (rows []trace.Row, err error) {
	if o.history != nil {
		var unread []string
		if rows, unread, err = o.history(ctx, name, &item, r.To); err != nil {
			return nil, failf(host.CodeOf(err), err, "%s job %s: read the history", verbBackfill.words, name)
		}
		if len(unread) > 0 && !r.Force {
			return nil, failf(host.Unavailable, nil, "%s job %s: the history of %s cannot be read, and may say that something has run; try again when it can, or use --force", verbBackfill.words, name, strings.Join(unread, ", "))
		}
	}
	for k := range kept {
		if kept[k].Item == item {
			rows = append(rows, kept[k].Row)
		}
	}
	return rows, nil
}

// indexes returns the numbers from 0 to n-1.
func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
