package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

func TestHistoryScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/history",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rows": func(ts *testscript.TestScript, neg bool, args []string) { addRows(t.Context(), ts, neg, args) },
		},
		RequireExplicitExec: true,
	})
}

// addRows implements the script command "rows DATABASE FILE": it writes the rows in the file,
// each a JSON object with the fields of trace.Row, into a history.
func addRows(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows database file")
	}
	var rows []trace.Row
	d := json.NewDecoder(bytes.NewBufferString(ts.ReadFile(args[1])))
	d.DisallowUnknownFields()
	for d.More() {
		r := trace.Row{Attempt: 1, Cause: trace.Schedule, State: trace.Succeeded}
		ts.Check(d.Decode(&r))
		rows = append(rows, r)
	}
	s, err := sqltrace.Open(ctx, sqltrace.File(ts.MkAbs(args[0])))
	ts.Check(err)
	// Left open, as by a running server.
	ts.Defer(func() { ts.Check(s.Close()) })
	ts.Check(s.Write(ctx, rows))
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"now":                       "2026-03-01T12:00:00Z",
		"90m":                       "2026-03-01T10:30:00Z",
		"2d":                        "2026-02-27T12:00:00Z",
		"2026-01-31T12:00:00+02:00": "2026-01-31T10:00:00Z",
	} {
		got, err := parseMoment("since", text, now)
		if at := time.UnixMilli(got).UTC().Format(time.RFC3339); err != nil || at != want {
			t.Errorf("%s: %s %v, want %s", text, at, err, want)
		}
	}
	for _, text := range []string{"-90m", "yesterday", "2026-01-31", "2026-01-31T12:00:00", "d", "-1d", "99999999999d"} {
		if got, err := parseMoment("since", text, now); err == nil {
			t.Errorf("%s: %d, want an error", text, got)
		}
	}
}

func TestPlainTextCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b[2Jb\r\nc\x00\u202ed\xff": "a [2Jb  c  d\uFFFD",
		"ä":                             "ä",
		"\n":                            "",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	long := bytes.Repeat([]byte("ä"), 1000)
	if got := []rune(plain(string(long))); len(got) != plainLimit+1 {
		t.Errorf("%d characters", len(got))
	}
}

// A server does not compare all instants since 1970 for any caller.
func TestHistoryCheckIsBounded(t *testing.T) {
	t.Parallel()
	from, to := int64(0), int64(1_000_000)
	want := admin.CheckWanted{From: &from, To: &to}
	f := &config.File{Jobs: []job.Config{{Name: "rarely", Cron: "0 0 0 * * ?", Shards: 1}, {Name: "often", Cron: "* * * * * ?", Shards: 1}}}
	all, err := checkJobs(t.Context(), histories{}, f, want, 1000)
	if err != nil || len(all) != 2 || all[0].Instants != 0 || all[1].Instants != 1000 {
		t.Fatalf("%+v, %v", all, err)
	}
	_, err = checkJobs(t.Context(), histories{}, f, want, 999)
	if why, ok := errors.AsType[*host.Error](err); !ok || why.Code != host.Invalid || !strings.Contains(why.Msg, "at job often") {
		t.Error(err)
	}
	want.Job = "rarely"
	if _, err := checkJobs(t.Context(), histories{}, f, want, 0); err != nil {
		t.Error(err)
	}
}

// A job whose cron is invalid in the registry has no instants, and keeps no other job from being checked.
func TestHistoryCheckWithAnInvalidCron(t *testing.T) {
	t.Parallel()
	from, to := int64(0), int64(3000)
	f := &config.File{Jobs: []job.Config{{Name: "broken", Cron: "* * * * * ?", Shards: 1}, {Name: "often", Cron: "* * * * * ?", Shards: 1}}}
	in := histories{inForce: func(_ context.Context, as host.Options) []job.Config {
		as.Jobs[0].Cron = "never"
		return as.Jobs
	}}
	all, err := checkJobs(t.Context(), in, f, admin.CheckWanted{From: &from, To: &to}, 1000)
	if err != nil || len(all) != 2 || len(all[0].Findings) != 0 || len(all[1].Findings) != 1 || all[1].Findings[0].Count != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Runs of other servers are accounted for like this server's.
func TestHistoryCheckGoesByTheRowsOfOthers(t *testing.T) {
	t.Parallel()
	from, to := int64(0), int64(3000)
	want := admin.CheckWanted{From: &from, To: &to}
	f := &config.File{Jobs: []job.Config{{Name: "often", Cron: "* * * * * ?", Shards: 1}}}
	all, err := checkJobs(t.Context(), histories{}, f, want, 1000)
	if err != nil || len(all) != 1 || len(all[0].Findings) != 1 || all[0].Findings[0].Kind != trace.Missing || all[0].Findings[0].Count != 3 {
		t.Fatalf("without others: %+v, %v", all, err)
	}
	others := func(_ context.Context, name string, after, upTo int64) (rows []trace.Row) {
		for at := after + 1000; at <= upTo; at += 1000 {
			rows = append(rows, trace.Row{Job: name, Run: strconv.FormatInt(at, 10), Attempt: 1, Instant: at, Schedule: "* * * * * ?", Cause: trace.Schedule, State: trace.Succeeded, Start: at, End: at + 1})
		}
		return rows
	}
	if all, err = checkJobs(t.Context(), histories{others: others}, f, want, 1000); err != nil || len(all[0].Findings) != 0 || all[0].Rows != 3 {
		t.Errorf("with others: %+v, %v", all, err)
	}
}

// The tables of a large history take long to be brought up to date. A signal ends that, and is
// no fault of the history.
func TestASignalEndsTheUpdateOfAHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := false
	err := withHistory(ctx, &config.File{History: config.History{Path: path}}, sqltrace.File(path), func(*sqltrace.Store) error { called = true; return nil })
	if !called || err != nil {
		t.Errorf("goes on: %v, %v", called, err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		t.Errorf("%d bytes of tables were made", info.Size())
	}
}

// Old rows are deleted only once the tables are there. The first server on a new database would otherwise
// report a fault.
func TestOldRowsAreDeletedAfterTheTablesAreMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := sqltrace.File(filepath.Join(t.TempDir(), "new", "history.db"))
		rows, err := sqltrace.Later(at)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			tendHistory(ctx, config.History{Age: time.Hour}, slog.New(slog.NewTextHandler(&log, nil)), rows)
		}()
		synctest.Wait() // without its folder the database cannot be reached
		if err := os.Mkdir(filepath.Dir(at.String()), 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * historyPause)
		old := trace.Row{Job: "often", Run: "1000", Attempt: 1, Instant: 1000, Cause: trace.Schedule, State: trace.Succeeded}
		if err := rows.Write(ctx, []trace.Row{old}); err != nil {
			t.Error(err)
		}
		time.Sleep(purgePause)
		stop()
		<-ended
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		if text := log.String(); strings.Contains(text, "level=ERROR") || !strings.Contains(text, "purged\" rows=1") {
			t.Error(text)
		}
	})
}

// An answer of a server has few megabytes of texts, whatever the rows have, and the next one goes on. Of a single run it
// has all attempts.
func TestAnswersWithRowsAreBounded(t *testing.T) {
	t.Parallel()
	const count = 200
	s, err := sqltrace.Open(t.Context(), sqltrace.File(filepath.Join(t.TempDir(), "history.db")))
	if err != nil {
		t.Fatal(err)
	}
	var rows []trace.Row
	for i := range count {
		rows = append(rows, trace.Row{Job: "j", Run: "60000", Attempt: i + 1, Instant: 60_000, Cause: trace.Schedule, State: trace.Failed, Result: strings.Repeat("x", sqltrace.MaxResult)})
	}
	if err := s.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	item, found, pages := 0, 0, 0
	for want := (admin.RunsWanted{Job: "j", Limit: count}); ; pages++ {
		page, next, err := runsOf(s)(t.Context(), want)
		if found += len(page); err != nil || len(page)*sqltrace.MaxResult > pageBytes+2*sqltrace.MaxResult {
			t.Fatalf("a page has %d rows, %v", len(page), err)
		}
		if want.Cursor = next; next == "" {
			break
		}
	}
	if found != count || pages == 0 {
		t.Errorf("%d rows, %d pages before the last one", found, pages)
	}
	if page, next, err := runsOf(s)(t.Context(), admin.RunsWanted{Job: "j", Item: &item, Run: "60000", Limit: count}); err != nil || len(page) != count || next != "" {
		t.Errorf("a run has %d attempts, %v", len(page), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
