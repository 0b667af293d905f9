package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// foundRow is a row, and where it was found.
type foundRow struct {
	trace.Row
	in string // place of a history, or registry
	by string // for a row in the registry: address of the server that ran it
}

// foundPage is a page of rows of several histories.
type foundPage struct {
	rows []foundRow
	next string // cursor of the next page; empty on the last one
}

// found is a page of rows of a configuration's histories and the registry, with the zone for
// its times.
type found struct {
	foundPage
	places    []string // of the histories
	elsewhere elsewhere
	unread    []string // servers and histories that did not answer
	zone      *time.Location
}

// find calls show with a page of rows from the configuration's history, those of --with, and the registry,
// or from the server at --address. A job that none of them knows is an error. tz is --tz.
func (h *historyVerb) find(ctx context.Context, filter sqltrace.Filter, tz string, show func(*found) error) error {
	at, err := h.server.server(h.term.env, *h.files)
	if err != nil {
		return err
	}
	if at.Address != "" {
		return h.findAt(ctx, at, filter, tz, show)
	}
	f, err := h.load()
	if err != nil {
		return err
	}
	zone, err := zoneOf(f, tz, filter.Job)
	if err != nil {
		return err
	}
	places := append([]string{cmp.Or(f.History.Path, f.History.Address)}, h.with...)
	return h.readMost(ctx, f, func(ctx context.Context, all []*sqltrace.Reader, away error) error {
		var unread []string
		if away != nil { // the configuration's history, which is the first place, cannot be read
			places, unread = places[1:], []string{away.Error()}
		}
		others := h.elsewhere(ctx, f, filter.Job)
		page, err := findRows(ctx, all, places, others.rows, filter)
		if err == nil && len(page.rows) == 0 && filter.Job != "" && !others.known {
			err = knownJob(ctx, all, f, filter.Job)
		}
		if err != nil {
			return err
		}
		return show(&found{foundPage: page, places: places, elsewhere: others, unread: unread, zone: zone})
	})
}

// findRows returns one page of the rows of several histories and of the rows in also, which the registry
// has. A row that several of them have is on the page once. places are the names of the histories.
func findRows(ctx context.Context, all []*sqltrace.Reader, places []string, also []foundRow, f sqltrace.Filter) (foundPage, error) {
	var out foundPage
	more := false // a history has more rows than its page
	for i, r := range all {
		page, err := r.Query(ctx, f)
		if err != nil {
			if errors.Is(err, sqltrace.ErrCursor) {
				err = usage("--cursor: %w", err)
			}
			return out, err
		}
		more = more || page.Next != ""
		for _, row := range page.Rows {
			out.rows = append(out.rows, foundRow{Row: row, in: places[i]})
		}
	}
	for i := range also {
		has, err := f.Has(&also[i].Row)
		if err != nil {
			return out, usage("--cursor: %w", err)
		}
		if has {
			out.rows = append(out.rows, also[i])
		}
	}
	out.rows = trace.Newest(out.rows, func(r *foundRow) *trace.Row { return &r.Row }) // of two equal places, a history comes first
	if more || len(out.rows) > f.Limit {
		out.rows = out.rows[:min(f.Limit, len(out.rows))]
		out.next = sqltrace.After(&out.rows[len(out.rows)-1].Row)
	}
	return out, nil
}
