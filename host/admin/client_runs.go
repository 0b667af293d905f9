package admin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Runs returns a page of rows from the histories of the cluster or, if want.Run is set, all
// attempts of that run. want.Limit is at most MaxRuns.
func (c *Client) Runs(ctx context.Context, want RunsWanted) (page RunsPage, err error) {
	// There are three paths: of one run, of a job's rows, and of the rows of all jobs. Only the last one takes all
	// filters, also for a single job.
	wide := want.Run == "" && (want.Job == "" || want.Cause != "" || want.Since != 0 || want.Until != 0 || want.Logs)
	name := want.Job
	if !wide {
		if name, err = checkName(name); err != nil {
			return page, err
		}
	}
	query := want.history()
	if !wide {
		query = url.Values{}
	}
	addTexts(query, map[string]string{"state": string(want.State), "cursor": want.Cursor})
	if want.Limit > 0 {
		query.Set("limit", strconv.Itoa(want.Limit))
	}
	if want.Item != nil {
		query.Set("item", strconv.Itoa(*want.Item))
	}
	path := jobPath(name) + "/runs?" + query.Encode()
	if wide {
		path = historyPath + "?" + query.Encode()
	}
	if want.Run != "" {
		if want.Item == nil {
			return page, &host.Error{Code: host.Invalid, Msg: "a run is named by job, item and id"}
		}
		path = runsPath + url.PathEscape(name) + "/" + strconv.Itoa(*want.Item) + "/" + url.PathEscape(want.Run)
	}
	var d runsDocument
	if err := c.read(ctx, http.MethodGet, path, nil, &d); err != nil {
		return page, err
	}
	page.Next, page.Unread = d.Next, d.Unread
	for i := range d.Runs {
		page.Rows = append(page.Rows, d.Runs[i].row())
	}
	return page, nil
}

// fewRows are so few that an answer has room for them, however large their texts are.
const fewRows = 10

// fittingRuns is Runs for several runs. It asks for fewer rows if an answer is too large; limit is how many the page
// may have.
func (c *Client) fittingRuns(ctx context.Context, want RunsWanted) (page RunsPage, limit int, err error) {
	want.Limit = cmp.Or(want.Limit, defaultPage)
	for {
		page, err = c.Runs(ctx, want)
		if !errors.Is(err, errLargeAnswer) || want.Limit <= fewRows || want.Run != "" {
			return page, want.Limit, err
		}
		want.Limit = max(want.Limit/10, fewRows)
	}
}

// RunsPage is a page of rows.
type RunsPage struct {
	Rows []trace.Row
	Next string // cursor of the following page; empty on the last one
	// Unread names servers that did not answer and may have more.
	Unread []string
}

// MaxRuns is the limit of a page of runs.
const MaxRuns = maxPage

// row returns the row from which the document was made.
func (d *runDocument) row() trace.Row {
	r := trace.Row{
		Job: d.Job, Item: d.Item, Run: d.Run, Attempt: d.Attempt, Instant: d.InstantMs, Last: d.LastMs, Count: d.Count,
		Schedule: d.Schedule, Param: d.Param, Cause: d.Cause, State: d.State, Reason: reason.OfParams(d.Code, d.Params, d.Reason),
		Instance: d.Instance, TaskID: d.TaskID, Start: d.StartMs, End: d.EndMs, Result: d.Result, Error: d.Error,
		Digest: d.Digest, Fence: d.Fence, Fuel: d.Fuel, Succeeded: d.Succeeded, Failed: d.Failed, Metrics: string(d.Metrics),
	}
	if d.ExitCode != nil {
		r.Code, r.HasCode = *d.ExitCode, true
	}
	if d.Log != nil {
		r.Log, r.HasLog = *d.Log, true
	}
	return r
}
