package admin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// RowsElsewhere returns the rows of a job that touch (from, to] and that other servers have, in the
// order of trace.Check and without the texts of guests.
type RowsElsewhere func(ctx context.Context, job string, from, to int64) ([]trace.Row, error)

// maxElsewhere bounds the rows that a check gets from the others for one job: some tens of megabytes.
const maxElsewhere = 100_000

// gathered collects rows of other servers, and names those that did not answer.
type gathered struct {
	r      *request
	unread []string
}

// rows is a RowsElsewhere.
func (g *gathered) rows(ctx context.Context, name string, from, to int64) ([]trace.Row, error) {
	clients, unread := g.r.others(ctx, name, operator.View)
	var mu sync.Mutex // guards all and full
	var all []trace.Row
	var full error
	silent := operator.AskAllTo(ctx, clients, func(ctx context.Context, _ string, c *Client) error {
		return touching(ctx, c, name, from, to, func(page []trace.Row) error {
			mu.Lock()
			defer mu.Unlock()
			if all = append(all, page...); len(all) > g.r.h.mostRows {
				full = &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("other servers have more than %d rows of job %s; say from when and to when it is to be checked", g.r.h.mostRows, name)}
			}
			return full
		})
	})
	for _, one := range append(silent, unread...) {
		if !slices.Contains(g.unread, one) {
			g.unread = append(g.unread, one)
		}
	}
	slices.SortFunc(all, func(a, b trace.Row) int { return trace.PlaceOf(&a).Compare(trace.PlaceOf(&b)) })
	return all, full
}

// touching passes on the rows of a server's history that touch (from, to]. Those that begin before and
// reach into it are gaps, of which nothing ran.
func touching(ctx context.Context, c *Client, name string, from, to int64, take func([]trace.Row) error) error {
	within := RunsWanted{Job: name, Until: to + 1}
	if from < 0 { // no row has such an instant
		return pages(ctx, c, within, from, take)
	}
	within.Since = from + 1
	if err := pages(ctx, c, within, math.MinInt64, take); err != nil {
		return err
	}
	for _, state := range []trace.State{trace.Missed, trace.Skipped, trace.Lost} {
		if err := pages(ctx, c, RunsWanted{Job: name, State: state, Until: from + 1}, from, take); err != nil {
			return err
		}
	}
	return nil
}

// pages passes on what is wanted and speaks of an instant after one.
func pages(ctx context.Context, c *Client, want RunsWanted, after int64, take func([]trace.Row) error) error {
	for want.Limit = maxPage; ; {
		page, err := c.Runs(ctx, want)
		if err != nil {
			return err
		}
		rows := slices.DeleteFunc(page.Rows, func(r trace.Row) bool { return max(r.Instant, r.Last) <= after })
		for i := range rows {
			rows[i].Result, rows[i].Error, rows[i].Log, rows[i].Metrics = "", "", "", ""
		}
		if err := take(rows); err != nil || page.Next == "" || page.Next == want.Cursor {
			return err
		}
		want.Cursor = page.Next
	}
}
