package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

// ledger is a history of one job with 250 runs. The cursor is the number of the next row.
func ledger(_ context.Context, want RunsWanted) (rows []trace.Row, next string, err error) {
	first := 0
	if want.Cursor != "" {
		if first, err = strconv.Atoi(want.Cursor); err != nil {
			return nil, "", &host.Error{Code: host.Invalid, Msg: "go on where a page ended", Err: errors.New("not a cursor")}
		}
	}
	for i := first; i < 250; i++ {
		r := trace.Row{Job: "report", Item: i % 2, Run: strconv.Itoa(1000 - i), Attempt: 1, Instant: int64(1000 - i), Cause: trace.Schedule, State: trace.Succeeded}
		if i == 7 {
			r.State, r.Reason, r.Count, r.Last = trace.Missed, reason.Of(reason.JobPaused), 3, 1002
		}
		switch {
		case want.Job != r.Job || want.Item != nil && *want.Item != r.Item || want.Run != "" && want.Run != r.Run || want.State != "" && want.State != r.State:
		case len(rows) == want.Limit:
			return rows, strconv.Itoa(i), nil
		default:
			rows = append(rows, r)
		}
	}
	return rows, "", nil
}

func TestRunsComeInPages(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Operate: onMemory, Runs: ledger})
	var got []string
	pages := 0
	for at := "/api/v1/jobs/report/runs?limit=40&item=1"; at != ""; pages++ {
		w := answered(t, h, http.MethodGet, at, "", "")
		var d runsDocument
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK || len(d.Runs) > 40 {
			t.Fatalf("%s: %d %s: %v", at, w.Code, w.Body, err)
		}
		for _, r := range d.Runs {
			got = append(got, r.Run)
		}
		link := w.Header().Get("Link")
		if (link == "") != (d.Next == "") {
			t.Errorf("next is %q, and the link %q", d.Next, link)
		}
		at, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
	}
	var want []string
	for i := 1; i < 250; i += 2 {
		want = append(want, strconv.Itoa(1000-i))
	}
	if pages != 4 || !slices.Equal(got, want) {
		t.Errorf("%d pages with %v", pages, got)
	}
}

func TestRunsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Operate: onMemory, Runs: ledger})
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"jobs/report/runs?state=missed", 200, `"runs":[{"job":"report","item":1,"run":"993","attempt":1,"instant_unix_ms":993,"last_unix_ms":1002,"count":3,"cause":"schedule","state":"missed","reason":"the job was paused","reason_code":"job_paused"}]}`},
		{"jobs/mail/runs", 200, `{"version":1,"runs":[]}`},
		{"jobs/report/runs", 200, fmt.Sprintf(`"next":"%d"}`, defaultPage)},
		{"runs/report/0/1000", 200, `"runs":[{"job":"report","item":0,"run":"1000",`},
		{"runs/report/1/1000", 404, `"code":"not_found"`},
		{"runs/report/x/1000", 404, `"code":"not_found"`},
		{"runs/report/0/1000?limit=1", 400, "takes no query"},
		{"jobs/report/runs?limit=0", 400, `"parameter":"limit"`},
		{"jobs/report/runs?limit=1001", 400, `"parameter":"limit","message":"limit is 1 to 1000"`},
		{"jobs/report/runs?item=a", 400, `"parameter":"item"`},
		{"jobs/report/runs?state=good", 400, `"parameter":"state"`},
		{"jobs/report/runs?cursor=a", 422, `"code":"invalid"`},
		{"jobs/report/runs?since=1", 400, `known are cursor, item, limit, state`},
	} {
		w := answered(t, h, http.MethodGet, "/api/v1/"+tt.path, "", "")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.path, w.Code, w.Body, tt.status, tt.want)
		}
	}
	w := answered(t, NewHandler(Options{Operate: onMemory}), http.MethodGet, "/api/v1/runs/report/0/1000", "", "")
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), codeNoRoute) {
		t.Errorf("without a history: %d %s", w.Code, w.Body)
	}
}

// Servers send each other complete rows, since decisions may need every field, as a backfill
// needs the schedule of a gap.
func TestRowsAreSentWhole(t *testing.T) {
	t.Parallel()
	row := trace.Row{
		Job: "report", Item: 3, Run: "gap-60000", Attempt: 1, Instant: 60_000, Last: 120_000, Count: 2, Param: "east", Schedule: "0 * * * * ?",
		Cause: trace.Schedule, State: trace.Missed, Reason: reason.Of(reason.JobPaused, "ann", "", "deploy"),
		Instance: "10.0.0.1@-@1", TaskID: "report@-@3@-@READY@-@10.0.0.1@-@1", Start: 1, End: 2, Result: "r", Error: "e", Code: 4, HasCode: true,
		Digest: "0a", Fence: 5, Fuel: 6, Succeeded: 7, Failed: 8, Metrics: `{"m":1}`, Log: "l", HasLog: true,
	}
	for i := range reflect.ValueOf(row).NumField() {
		if reflect.ValueOf(row).Field(i).IsZero() {
			t.Errorf("%s is not tried", reflect.TypeFor[trace.Row]().Field(i).Name)
		}
	}
	text, err := json.Marshal(runOf(&row))
	if err != nil {
		t.Fatal(err)
	}
	var got runDocument
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(row, got.row(), cmp.AllowUnexported(reason.Reason{})); diff != "" {
		t.Error(diff)
	}
}
