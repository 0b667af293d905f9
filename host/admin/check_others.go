package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// RowsElsewhere returns the rows of other servers for a job that touch (from, to], in the order of
// trace.Check and without the texts of guests. A row that several of them have is returned once.
type RowsElsewhere func(ctx context.Context, job string, from, to int64) []trace.Row

// InForce returns the jobs of a server with the settings that are in force, as far as the registry can be
// read.
type InForce func(ctx context.Context, as host.Options) []job.Config

const (
	// maxElsewhere limits the rows that a check gets from the others at once, for one job or for all: some
	// tens of megabytes.
	maxElsewhere = 100_000
	// checkTime limits the time in which a check gets rows from the others, so that the check itself has
	// the rest of workTimeout. pageTime limits one page of one server. The request for the rows of all jobs
	// gets a third of checkTime.
	checkTime = 20 * time.Second
	pageTime  = 5 * time.Second
)

// gathered collects rows of other servers, and names the servers that did not return all of them.
type gathered struct {
	r      *request
	every  bool            // the rows of all jobs are still to be requested at once
	until  time.Time       // no server is asked after that
	silent map[string]bool // addresses of servers that did not answer once, and are not asked again
	unread []string

	known map[string][]trace.Row // of all jobs; nil: they were not requested at once, or are too many
}

// rows is a RowsElsewhere. For a check of all jobs it asks each server once, since a request for each job
// could exceed the rate of the caller.
func (g *gathered) rows(ctx context.Context, name string, from, to int64) []trace.Row {
	if g.every {
		g.every = false
		g.known = g.ask(ctx, "", from, to)
	}
	if g.known != nil {
		return g.known[name]
	}
	return g.ask(ctx, name, from, to)[name]
}

// ask returns the rows of other servers, for one job or, if name is empty, for each job. If all jobs have too
// many, or the time for them is over, it returns nil and reports no server for it.
func (g *gathered) ask(ctx context.Context, name string, from, to int64) map[string][]trace.Row {
	clients, unread := g.r.others(ctx, name, operator.View)
	maps.DeleteFunc(clients, func(address string, _ *Client) bool { return g.silent[address] })
	left := time.Until(g.until)
	if name == "" { // the rest is for requests for single jobs, if this one fails
		left /= 3
	}
	within, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	var mu sync.Mutex // guards all and silent
	all, silent := []trace.Row{}, []string{}
	// short names the servers that did not return all their rows, silent those of them that did not answer at all.
	short := operator.AskAllTo(within, clients, func(ctx context.Context, address string, c *Client) error {
		err := touching(ctx, c, name, from, to, func(page []trace.Row) error {
			mu.Lock()
			defer mu.Unlock()
			if len(all)+len(page) > g.r.h.mostRows {
				return errTooManyRows
			}
			all = append(all, page...)
			return nil
		})
		switch {
		case errors.Is(err, errTooManyRows) && name == "":
			cancel() // the other answers are not needed any more
		case errors.Is(err, errTooManyRows):
			return fmt.Errorf("with its rows of job %s there are more than %d; check a shorter time", name, g.r.h.mostRows)
		case err != nil && host.CodeOf(err) != host.NotFound:
			mu.Lock()
			defer mu.Unlock()
			silent = append(silent, address)
		}
		return err
	})
	if name == "" && within.Err() != nil { // too many rows, or no time: each job is asked for by itself
		return nil
	}
	for _, address := range silent {
		g.silent[address] = true
	}
	for _, one := range append(short, unread...) {
		if !slices.Contains(g.unread, one) {
			g.unread = append(g.unread, one)
		}
	}
	all = trace.Newest(all, func(r *trace.Row) *trace.Row { return r }) // two servers can have the same row; see trace.Merge
	slices.Reverse(all)
	of := map[string][]trace.Row{}
	for i := range all {
		of[all[i].Job] = append(of[all[i].Job], all[i])
	}
	return of
}

var errTooManyRows = errors.New("there are too many rows")

// touching passes on the rows of a server's history that touch (from, to], of one job or, without a name, of
// all. Only gaps can begin before and reach into it, so it reads earlier rows only of the states that gaps have.
func touching(ctx context.Context, c *Client, name string, from, to int64, take func([]trace.Row) error) error {
	within := RunsWanted{Job: name, Until: to + 1}
	if from < 0 { // no row has an instant before it, so there is nothing to read separately
		return pages(ctx, c, within, from, take)
	}
	within.Since = from + 1
	if err := pages(ctx, c, within, math.MinInt64, take); err != nil { // Since has left out the earlier ones
		return err
	}
	for _, state := range []trace.State{trace.Missed, trace.Skipped, trace.Lost} {
		if err := pages(ctx, c, RunsWanted{Job: name, State: state, Until: from + 1}, from, take); err != nil {
			return err
		}
	}
	return nil
}

// pages passes on the wanted rows that end after an instant, page by page and without the texts of guests, which
// need much memory. It drops rows of another job, since a server may answer with anything. A server that does not
// advance would be asked for ever, so a repeated cursor ends it.
func pages(ctx context.Context, c *Client, want RunsWanted, after int64, take func([]trace.Row) error) error {
	for want.Limit = maxPage; ; {
		page, limit, err := pageOf(ctx, c, want)
		if err != nil {
			return err
		}
		want.Limit = limit
		rows := slices.DeleteFunc(page.Rows, func(r trace.Row) bool { return want.Job != "" && r.Job != want.Job || max(r.Instant, r.Last) <= after })
		for i := range rows {
			dropTexts(&rows[i])
		}
		if err := take(rows); err != nil || page.Next == "" || page.Next == want.Cursor {
			return err
		}
		want.Cursor = page.Next
	}
}

// dropTexts drops the texts of a guest.
func dropTexts(r *trace.Row) { r.Result, r.Error, r.Log, r.Metrics = "", "", "", "" }

// pageOf requests one page, with a limit of its time. limit is how many rows it may have.
func pageOf(ctx context.Context, c *Client, want RunsWanted) (page RunsPage, limit int, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	return c.fittingRuns(ctx, want)
}
