package main

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// A job that cannot be read has a schedule that is not known, rather than none.
func TestExplainedWithoutConfiguration(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Date(2026, 1, 31, 2, 0, 0, 0, time.UTC)} {
		var out bytes.Buffer
		e := &operator.Explanation{Job: "cmd", At: at, Unreadable: reason.Of(reason.ConfigUnreadable, "/jobs/cmd/config: expected JSON")}
		if err := printExplained(&terminal{out: &out}, e, time.UTC); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(out.String(), "\n")
		if !strings.HasPrefix(head, "job cmd") || !strings.HasSuffix(head, ": /jobs/cmd/config: expected JSON") || at.IsZero() == strings.Contains(head, " at 2026-") {
			t.Errorf("at %s: %s", at, out.String())
		}
	}
}

// Of a run with more rows than a page, no item is missing; of one item the newest rows are enough.
func TestHistoryHasWholeRuns(t *testing.T) {
	t.Parallel()
	const items, runs = explainedRows*2 + 100, 3
	s, err := sqltrace.Open(t.Context(), sqltrace.File(filepath.Join(t.TempDir(), "history.db")))
	if err != nil {
		t.Fatal(err)
	}
	var rows []trace.Row
	for run := range runs {
		at := int64(run+1) * 60_000
		for i := range items {
			rows = append(rows, trace.Row{Job: "j", Item: i, Run: strconv.FormatInt(at, 10), Attempt: 1, Instant: at, Cause: trace.Schedule, State: trace.Succeeded, Result: "r", Error: "e"})
		}
	}
	if err := s.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	all, _, err := historyIn(s.Reader)(t.Context(), "j", nil, time.UnixMilli(120_000))
	if err != nil || len(all) != items || all[items-1].Item != 0 || all[items-1].Instant != 120_000 || all[0].Result+all[items-1].Result+all[0].Error+all[items-1].Error != "" {
		t.Errorf("%d rows, %v", len(all), err)
	}
	one := 7
	all, _, err = historyIn(s.Reader)(t.Context(), "j", &one, time.UnixMilli(120_000))
	if err != nil || len(all) != 2 {
		t.Errorf("of one item, %d rows, %v", len(all), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
