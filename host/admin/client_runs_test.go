package admin

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A client gets each row as it is in the server's history.
func TestClientRuns(t *testing.T) {
	t.Parallel()
	item := 3
	row := trace.Row{
		Job: "report", Item: 3, Run: "a/b ?", Attempt: 2, Instant: 1000, Last: 3000, Count: 3, Cause: trace.Schedule, State: trace.Missed,
		Reason: reason.Of(reason.TokensBackwards, "7", "4"), Instance: "10.0.0.1@-@1", TaskID: "task", Start: 5, End: 6, Result: "r\n", Error: "<e>",
		Code: -1, HasCode: true, Digest: "d", Fence: 9, Fuel: 10, Succeeded: 11, Failed: 12, Metrics: `{"x":1}`, Log: "", HasLog: true,
	}
	var asked []RunsWanted
	h := NewHandler(Options{Operate: onMemory, Authenticate: known, Runs: func(_ context.Context, want RunsWanted) ([]trace.Row, string, error) {
		asked = append(asked, want)
		return []trace.Row{row}, "on", nil
	}})
	c := at(t, "http://"+serveTCP(t, TLS{}, h), "viewer")
	page, err := c.Runs(t.Context(), RunsWanted{Job: "report", Item: &item, State: trace.Missed, Limit: 7, Cursor: "c"})
	if err != nil || page.Next != "on" || !slices.Equal(page.Rows, []trace.Row{row}) {
		t.Errorf("%+v, %v", page, err)
	}
	if page, err = c.Runs(t.Context(), RunsWanted{Job: "report", Item: &item, Run: row.Run}); err != nil || len(page.Rows) != 1 {
		t.Errorf("of one run: %+v, %v", page, err)
	}
	if len(asked) != 2 || asked[0].Limit != 7 || asked[0].Cursor != "c" || *asked[0].Item != 3 || asked[0].State != trace.Missed || asked[1].Run != row.Run {
		t.Errorf("the server was asked for %+v", asked)
	}
	_, err = c.Runs(t.Context(), RunsWanted{Job: "report", Run: "1"})
	wantCode(t, "a run without its item", err, host.Invalid, "job, item and id")
	without := at(t, "http://"+serveTCP(t, TLS{}, NewHandler(Options{Operate: onMemory, Authenticate: known})), "viewer")
	if _, err := without.Runs(t.Context(), RunsWanted{Job: "report"}); err == nil {
		t.Error(http.StatusText(http.StatusNotFound) + " is no error")
	}
}

// A client that names no item gets the operator's answer: it sends no null, which no route takes.
func TestClientTriggersNoItems(t *testing.T) {
	t.Parallel()
	c := at(t, "http://"+serveTCP(t, TLS{}, NewHandler(Options{Operate: onMemory, Authenticate: known})), "operator")
	_, err := c.TriggerItems(t.Context(), "report", operator.ItemsWanted{})
	wantCode(t, "no items", err, host.Invalid, "say which items")
}
