package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A client's requests to a history arrive unchanged, and so do the answers.
func TestHistoryByAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	item, from := 3, int64(5)
	want := RunsWanted{Job: "report", Item: &item, State: trace.Failed, Cause: trace.Trigger, Since: 7, Until: 9, Limit: 11, Cursor: "c", Logs: true}
	found := []Checked{{"report", "Europe/Berlin", trace.Report{More: 1, Rows: 2, Instants: 3, Findings: []trace.Finding{{Kind: "missing", Job: "report", Item: 1, Run: "5", Attempt: 1, First: 5, Last: 9, Count: 2, Detail: "d"}}}}}
	var purged Purge
	h := NewHandler(Options{
		Operate: s.operate, Authenticate: known,
		Runs: func(_ context.Context, got RunsWanted) ([]trace.Row, string, error) {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("asked for %+v", got)
			}
			return []trace.Row{{Job: "report", Item: 3, Run: "8", Attempt: 1, Instant: 8, Cause: trace.Trigger, State: trace.Failed, HasLog: true, Log: "l"}}, "next", nil
		},
		Check: func(ctx context.Context, got CheckWanted, inForce InForce, _ RowsElsewhere) ([]Checked, error) {
			file := host.Options{Jobs: []job.Config{{Name: "report", Kind: job.Simple, Shards: 99, Unsaid: []string{"shards"}, Layout: job.Layout21}}}
			if all := inForce(ctx, file); len(all) != 1 || all[0].Shards == 99 {
				t.Errorf("in force is %+v", all)
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if all := inForce(ended, file); len(all) != 1 || all[0].Shards != 99 {
				t.Errorf("without the registry, %+v", all)
			}
			if got.Job != "report" || got.To != nil || got.From == nil || *got.From != from {
				t.Errorf("checked %+v", got)
			}
			return found, nil
		},
		Purge:       func(_ context.Context, p Purge) (int64, error) { purged = p; return 4, nil },
		RetryModule: func(prefix string, dry bool) (string, error) { return fmt.Sprint(prefix, dry), nil },
	})
	c := at(t, "http://"+serveTCP(t, TLS{}, h), "admin")
	page, err := c.Runs(t.Context(), want)
	if err != nil || page.Next != "next" || len(page.Rows) != 1 || page.Rows[0].Log != "l" || page.Rows[0].Item != 3 {
		t.Errorf("%+v, %v", page, err)
	}
	got, unread, err := c.CheckHistory(t.Context(), CheckWanted{Job: "report", From: &from})
	if err != nil || !reflect.DeepEqual(got, found) || len(unread) != 1 || !strings.HasPrefix(unread[0], "the registry, for the settings of jobs (") {
		t.Errorf("%+v, %q, %v", got, unread, err)
	}
	for _, p := range []Purge{{Job: "report", Age: time.Hour, PerJob: 2, Bytes: 3}, {Dry: true, PerJob: 1}} {
		if n, err := c.PurgeHistory(t.Context(), p); err != nil || n.Rows != 4 || purged != p {
			t.Errorf("%+v, %v; purged %+v", n, err, purged)
		}
	}
	if digest, err := c.RetryModule(t.Context(), "0a"); err != nil || digest != "0afalse" {
		t.Errorf("%s, %v", digest, err)
	}
	op, err := s.operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	audit, err := op.Audit(t.Context(), operator.AuditFilter{})
	if err != nil || len(audit) != 2 || audit[0].Verb != "module retry" || audit[1].Detail != "job=report older_than=1h0m0s per_job=2 bytes=3 rows=4" {
		t.Errorf("%+v, %v", audit, err)
	}
	if err := op.Close(); err != nil {
		t.Error(err)
	}
	if w := sent(t, h, http.MethodGet, historyPath+"?until=0", "10.0.1.1:1", "Authorization: Bearer viewer"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"runs":[]`) {
		t.Errorf("runs before 1970: %d %s", w.Code, w.Body)
	}
	_, err = at(t, c.base, "viewer").PurgeHistory(t.Context(), Purge{PerJob: 1})
	wantCode(t, "a viewer purges", err, host.Denied, "role viewer")
	for i, query := range []string{"?limit=0", "?limit=101&logs=true", "?since=x", "?until=-1", "?item=-1", "?state=odd", "?cause=odd", "?logs=null", "?more=1", "/check?from=9&to=9", "/check?to=x"} {
		if w := sent(t, h, http.MethodGet, historyPath+query, fmt.Sprintf("10.0.0.%d:1", i), "Authorization: Bearer viewer"); w.Code != http.StatusUnprocessableEntity && w.Code != http.StatusBadRequest {
			t.Errorf("%s is answered %d %s", query, w.Code, w.Body)
		}
	}
}

// A purge that ends early has a row in the audit if it has deleted rows, also when its client is gone.
func TestPurgeThatEndsEarlyIsInTheAudit(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	var leave context.CancelFunc
	var rows int64
	h := NewHandler(Options{Operate: s.operate, Purge: func(ctx context.Context, _ Purge) (int64, error) {
		leave()
		<-ctx.Done()
		return rows, ctx.Err()
	}})
	for _, rows = range []int64{0, 500} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leave = cancel
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, purgePath, strings.NewReader(`{"per_job":1}`))
		r.Header.Set("Content-Type", jsonType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("a purge that ended early is answered %d %s", w.Code, w.Body)
		}
	}
	op, err := s.operate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	audit, err := op.Audit(t.Context(), operator.AuditFilter{})
	if err != nil || len(audit) != 1 || audit[0].Verb != "history purge" || audit[0].Detail != "job= older_than=0s per_job=1 bytes=0 rows=500" {
		t.Errorf("%+v, %v", audit, err)
	}
	if err := op.Close(); err != nil {
		t.Error(err)
	}
}
