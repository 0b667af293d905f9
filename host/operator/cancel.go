package operator

import (
	"context"
	"log/slog"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// CancelFilter selects open runs of a job.
type CancelFilter struct {
	Run  string // its id, or the time of its instant; "": all
	Item *int   // nil: all
	// Now ends them at once. Otherwise their guests are asked to stop, and ended after a grace
	// period.
	Now bool
}

// OpenRun is a run that a member has open.
type OpenRun struct {
	Item     int            `json:"item"`
	Run      string         `json:"run"`
	Attempt  int            `json:"attempt"`
	Instance job.InstanceID `json:"instance"`
}

var verbCancel = verb{"cancel runs of", "job cancel"}

// Cancel requests that open runs of a job end, at most 500 at once, and returns these runs. They get
// rows of the state cancelled, and are not retried. It returns when the request is written; a member
// acts on it only while its server reaches the registry.
func (o *Operator) Cancel(ctx context.Context, name string, f CancelFilter) ([]OpenRun, error) {
	var asked []OpenRun
	err := o.askBy(ctx, request{verb: verbCancel, job: name, direct: func(v *protocol.View, _ layout.Layout) ([]registry.Op, deed, error) {
		asked = openRuns(v, f)
		asked = asked[:min(len(asked), clustertree.MaxCancels)] // the node has no room for more
		if len(asked) == 0 {
			return nil, deed{}, failf(host.NotFound, nil, "%s job %s: no server of ours has such a run open", verbCancel.words, name)
		}
		if err := o.makeTree(ctx); err != nil {
			return nil, deed{}, err
		}
		now, err := o.now(ctx)
		if err != nil {
			return nil, deed{}, readError(err, "%s job %s: ask the registry for its time", verbCancel.words, name)
		}
		n, err := o.session.Read(ctx, o.tree.Cancels())
		if err != nil {
			return nil, deed{}, readError(err, "%s job %s: read the existing requests", verbCancel.words, name)
		}
		all, err := clustertree.DecodeCancels(n.Data)
		if err != nil {
			return nil, deed{}, failf(host.Refused, err, "%s job %s: the requests at %s cannot be read; delete that node", verbCancel.words, name, o.tree.Cancels())
		}
		for _, r := range asked {
			if !all.Add(clustertree.Cancel{Job: name, Item: r.Item, Run: r.Run, Attempt: r.Attempt, Now: f.Now, At: now.UnixMilli()}) {
				return nil, deed{}, failf(host.Refused, nil, "%s job %s: its name is too long for that; shut the job down instead", verbCancel.words, name)
			}
		}
		return []registry.Op{setOrCreate(o.tree.Cancels(), n, all.Encode())}, deed{detail: f.text()}, nil
	}})
	if err != nil {
		return nil, err
	}
	return asked, nil
}

// text describes the filter in the audit.
func (f CancelFilter) text() string {
	text := ""
	if f.Run != "" {
		text += " run=" + f.Run
	}
	if f.Item != nil {
		text += " item=" + strconv.Itoa(*f.Item)
	}
	if f.Now {
		text += " now"
	}
	if text == "" {
		return "all"
	}
	return text[1:]
}

// openRuns are the open runs of our members that a filter selects, in the order of items. The filter may name
// a run by its id or by the time of the instant that its guest sees.
func openRuns(v *protocol.View, f CancelFilter) []OpenRun {
	var all []OpenRun
	for i := range v.Runs {
		for _, e := range v.Runs[i].Open {
			r := OpenRun{Item: e.Item, Run: e.Run(), Attempt: e.Attempt, Instance: v.Runs[i].ID}
			shown, _ := e.RunsFor()
			if (f.Run == "" || f.Run == r.Run || runID(f.Run) == strconv.FormatInt(shown, 10)) && (f.Item == nil || *f.Item == r.Item) {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b OpenRun) int { return a.Item - b.Item })
	return all
}

// CarryOut passes the requests to cancel runs to a server's host, until ctx ends. While the
// registry cannot be reached, requests wait in it.
func (s *SharedSession) CarryOut(ctx context.Context, h *host.Host, log *slog.Logger) {
	done := map[clustertree.Cancel]bool{}
	session.Again(ctx, func() error { return s.carryOut(ctx, h, done) }, func(err error) {
		log.Debug("requests to cancel runs are not seen until the registry is back", "error", err)
	})
}

// carryOut is CarryOut for one session. done are the requests of the node that were passed on, also in earlier
// sessions.
func (s *SharedSession) carryOut(ctx context.Context, h *host.Host, done map[clustertree.Cancel]bool) error {
	o, err := s.Operator(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }() // others share the session
	if err := o.session.Follow(ctx, o.tree.Cancels()); err != nil {
		return failf(host.Unavailable, err, "follow the requests to cancel runs")
	}
	for {
		events, _ := o.inbox.Take()
		if slices.ContainsFunc(events, func(e registry.Event) bool { return e.Kind == registry.Ended }) {
			return failf(host.Unavailable, nil, "the session has ended")
		}
		n, err := o.session.Read(ctx, o.tree.Cancels())
		if err != nil {
			return readError(err, "read the requests to cancel runs")
		}
		all, err := clustertree.DecodeCancels(n.Data)
		if err != nil {
			return failf(host.Refused, err, "read the requests to cancel runs")
		}
		for _, c := range all.All {
			if !done[c] {
				h.Cancel(c.Job, c.Item, c.Run, c.Attempt, c.Now)
			}
		}
		clear(done)
		for _, c := range all.All {
			done[c] = true
		}
		select {
		case <-o.inbox.News():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
