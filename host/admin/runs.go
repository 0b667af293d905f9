package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	runsPath = "/api/v1/runs/"
	runParts = "{job}/{item}/{run}" // after runsPath
)

// RunsWanted selects the rows of a history that a request asks for, the newest
// first.
type RunsWanted struct {
	Job    string // "": all
	Item   *int   // nil: all
	Run    string // "": all
	State  trace.State
	Cause  trace.Cause
	Since  int64 // instants from then on, in Unix milliseconds; 0: any
	Until  int64 // instants before then; 0: any
	Limit  int
	Cursor string // next of the previous page
	Logs   bool   // with the end of each log
}

// Runs returns a page of a server's history. next is the cursor of the following
// page, "" on the last one.
type Runs func(ctx context.Context, want RunsWanted) (rows []trace.Row, next string, err error)

type runsDocument struct {
	Version int           `json:"version"`
	Runs    []runDocument `json:"runs"`
	Next    string        `json:"next,omitempty"`
	// Unread names the servers that did not answer and may have more.
	Unread []string `json:"unread,omitempty"`
}

// runDocument is a row of the history; its members are those of history list -o
// json. Times are Unix milliseconds, and absent if unknown.
type runDocument struct {
	Job       string            `json:"job"`
	Item      int               `json:"item"`
	Run       string            `json:"run"`
	Attempt   int               `json:"attempt"`
	InstantMs int64             `json:"instant_unix_ms"`
	LastMs    int64             `json:"last_unix_ms,omitempty"` // of a gap
	Count     int64             `json:"count,omitempty"`
	Schedule  string            `json:"schedule,omitempty"` // of the instants of a gap
	Param     string            `json:"param,omitempty"`    // that replaced the job's
	Cause     trace.Cause       `json:"cause"`
	State     trace.State       `json:"state"`
	Reason    string            `json:"reason,omitempty"`
	Code      reason.Code       `json:"reason_code,omitempty"`
	Params    map[string]string `json:"reason_params,omitempty"`
	Instance  string            `json:"instance,omitempty"`
	TaskID    string            `json:"task_id,omitempty"`
	StartMs   int64             `json:"start_unix_ms,omitempty"`
	EndMs     int64             `json:"end_unix_ms,omitempty"`
	Result    string            `json:"result,omitempty"`
	Error     string            `json:"error,omitempty"`
	ExitCode  *int32            `json:"code,omitempty"`
	Digest    string            `json:"digest,omitempty"`
	Fence     int64             `json:"fence,omitempty"`
	Fuel      int64             `json:"fuel,omitempty"`
	Succeeded int64             `json:"elements_succeeded,omitempty"`
	Failed    int64             `json:"elements_failed,omitempty"`
	Metrics   json.RawMessage   `json:"metrics,omitempty"`
	Log       *string           `json:"log,omitempty"` // its end, for one run; absent if it was not kept
}

// runOf converts a row; runDocument.row converts it back.
func runOf(r *trace.Row) runDocument {
	d := runDocument{
		Job: r.Job, Item: r.Item, Run: r.Run, Attempt: r.Attempt, InstantMs: r.Instant, Count: r.Count,
		Schedule: r.Schedule, Param: r.Param, Cause: r.Cause, State: r.State, Reason: r.Reason.String(), Code: r.Reason.Code, Params: r.Reason.Params(),
		Instance: r.Instance, TaskID: r.TaskID, StartMs: r.Start, EndMs: r.End, Result: r.Result, Error: r.Error,
		Digest: r.Digest, Fence: r.Fence, Fuel: r.Fuel, Succeeded: r.Succeeded, Failed: r.Failed, Metrics: json.RawMessage(r.Metrics),
	}
	if r.Count > 0 {
		d.LastMs = r.Last
	}
	if r.HasCode {
		d.ExitCode = &r.Code
	}
	if r.HasLog {
		d.Log = &r.Log
	}
	return d
}

// listRuns answers with a page of the job's rows.
func listRuns(r *request) (runsDocument, error) {
	item, state := r.query.Get("item"), trace.State(r.query.Get("state"))
	name, err := r.jobName()
	if err != nil {
		return runsDocument{}, err
	}
	want := RunsWanted{Job: name, State: state, Cursor: r.query.Get("cursor")}
	if want.Limit, err = r.limit(); err != nil {
		return runsDocument{}, err
	}
	if item != "" {
		n, err := strconv.Atoi(item)
		if err != nil || n < 0 {
			return runsDocument{}, wrongParameter("item", fmt.Sprintf("%.64q is not the number of an item", item))
		}
		want.Item = &n
	}
	d, err := r.page(want)
	r.linkNext(d.Next)
	return d, err
}

// showRun answers with the attempts of one run.
func showRun(r *request) (runsDocument, error) {
	id := r.PathValue("job") + "/" + r.PathValue("item") + "/" + r.PathValue("run")
	item, err := strconv.Atoi(r.PathValue("item"))
	var d runsDocument
	if err == nil && r.PathValue("run") != "" { // else no run has that name
		d, err = r.page(RunsWanted{Job: r.PathValue("job"), Item: &item, Run: r.PathValue("run"), Limit: maxPage})
		if err != nil {
			return d, err
		}
	}
	switch {
	case len(d.Runs) == 0 && len(d.Unread) > 0:
		return d, &host.Error{Code: host.Unavailable, Msg: fmt.Sprintf("no server that answers has a run %.600q; without an answer: %s", id, strings.Join(d.Unread, ", "))}
	case len(d.Runs) == 0:
		return d, &host.Error{Code: host.NotFound, Msg: fmt.Sprintf("no history has a run %.600q", id)}
	}
	return d, nil
}

// page returns the document with the wanted rows.
func (r *request) page(want RunsWanted) (runsDocument, error) {
	page, err := r.rows(r.Context(), want)
	if err != nil {
		return runsDocument{}, err
	}
	d := runsDocument{Version: 1, Runs: make([]runDocument, 0, len(page.Rows)), Next: page.Next, Unread: page.Unread}
	for i := range page.Rows {
		d.Runs = append(d.Runs, runOf(&page.Rows[i]))
	}
	return d, nil
}
