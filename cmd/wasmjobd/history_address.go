package main

import (
	"context"
	"errors"

	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// findAt is find for the histories of the server at an address and of those that it asks. Only the verb show
// sets filter.Logs, for one run; the verb list does not.
func (h *historyVerb) findAt(ctx context.Context, at config.Context, filter sqltrace.Filter, tz string, show func(*found) error) error {
	switch {
	case len(h.with) > 0:
		return usage("--with and --address: name either files or a server")
	case filter.Limit > admin.MaxRuns && !filter.Logs: // show has no --limit
		return usage("--address: --limit is 1 to %d", admin.MaxRuns)
	}
	zone, err := zoneOf(new(config.File), tz, filter.Job) // no configuration has the zones of jobs
	if err != nil {
		return err
	}
	want := admin.RunsWanted{Job: filter.Job, Item: filter.Item, Run: filter.Run, State: filter.State, Limit: filter.Limit, Cursor: filter.Cursor}
	if want.Run == "" { // by its id a server shows a run with its logs, and takes no other filter
		want.Cause, want.Since, want.Until, want.Logs = filter.Cause, filter.Since, filter.Until, filter.Logs
	}
	if want.Logs {
		want.Limit = min(want.Limit, admin.MaxLogged)
	}
	return untilSignal(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, defaultPatience)
		defer cancel()
		c, err := dial(at)
		if err != nil {
			return coded(err)
		}
		got, err := c.Runs(ctx, want)
		if err := errors.Join(err, c.Close()); err != nil {
			return coded(err)
		}
		page := foundPage{next: got.Next}
		for i := range got.Rows {
			page.rows = append(page.rows, foundRow{Row: got.Rows[i], in: at.Address})
		}
		return show(&found{foundPage: page, unread: got.Unread, places: []string{at.Address}, zone: zone})
	})
}
