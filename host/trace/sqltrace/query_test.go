package sqltrace_test

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// newest compares rows in the order of Query.
func newest(a, b trace.Row) int {
	return -cmp.Or(cmp.Compare(a.Instant, b.Instant), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Item, b.Item),
		cmp.Compare(a.Run, b.Run), cmp.Compare(a.Attempt, b.Attempt))
}

// mixed returns rows of two jobs, with several values for each filter.
func mixed() []trace.Row {
	var rows []trace.Row
	for instant := int64(10); instant <= 200; instant += 10 {
		for item := range 3 {
			r := run("a", item, instant)
			if instant%30 == 0 {
				r.State = trace.TakenOver
				rows = append(rows, r)
				r.Attempt, r.State, r.Cause = 2, trace.Failed, trace.Failover
			}
			rows = append(rows, r)
		}
		if instant%50 == 0 {
			rows = append(rows, gap("b", 0, instant-40, instant, 5))
		}
	}
	return rows
}

func TestQuery(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		rows := mixed()
		write(t, s, rows...)
		slices.SortFunc(rows, newest)
		one := 1
		tests := []struct {
			name   string
			filter sqltrace.Filter
			keep   func(trace.Row) bool
		}{
			{"all", sqltrace.Filter{}, func(trace.Row) bool { return true }},
			{"job", sqltrace.Filter{Job: "b"}, func(r trace.Row) bool { return r.Job == "b" }},
			{"no such job", sqltrace.Filter{Job: "c"}, func(trace.Row) bool { return false }},
			{"item", sqltrace.Filter{Job: "a", Item: &one}, func(r trace.Row) bool { return r.Job == "a" && r.Item == 1 }},
			{"state", sqltrace.Filter{State: trace.Failed}, func(r trace.Row) bool { return r.State == trace.Failed }},
			{"cause", sqltrace.Filter{Cause: trace.Failover}, func(r trace.Row) bool { return r.Cause == trace.Failover }},
			{"times", sqltrace.Filter{Since: 30, Until: 60}, func(r trace.Row) bool { return r.Instant >= 30 && r.Instant < 60 }},
			{"together", sqltrace.Filter{Job: "a", State: trace.TakenOver, Since: 90}, func(r trace.Row) bool {
				return r.Job == "a" && r.State == trace.TakenOver && r.Instant >= 90
			}},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				want := slices.DeleteFunc(slices.Clone(rows), func(r trace.Row) bool { return !tt.keep(r) })
				for _, r := range rows {
					if has, err := tt.filter.Has(&r); has != tt.keep(r) || err != nil {
						t.Errorf("that it has %+v is %v, %v", r, has, err)
					}
				}
				for _, limit := range []int{1, 7, len(want), 1000} {
					tt.filter.Limit = limit
					if diff := gocmp.Diff(want, append(want[:0:0], all(t, s.Reader, tt.filter)...)); diff != "" {
						t.Errorf("in pages of %d: %s", limit, diff)
					}
				}
			})
		}
	})
}

func TestCursorIsStable(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		write(t, s, run("j", 0, 10), run("j", 0, 20), run("j", 0, 30), run("j", 0, 40))
		first, err := s.Query(t.Context(), sqltrace.Filter{Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		write(t, s, run("j", 0, 50), run("j", 0, 35)) // neither comes after the cursor
		second, err := s.Query(t.Context(), sqltrace.Filter{Limit: 2, Cursor: first.Next})
		if err != nil {
			t.Fatal(err)
		}
		want := []trace.Row{run("j", 0, 40), run("j", 0, 30), run("j", 0, 20), run("j", 0, 10)}
		if diff := gocmp.Diff(want, append(first.Rows, second.Rows...)); diff != "" {
			t.Error(diff)
		}
		if second.Next != "" {
			t.Error("the last page has a next one")
		}
		for instant, want := range map[int64]bool{10: true, 20: true, 30: false, 35: false} {
			r := run("j", 0, instant)
			if has, err := (sqltrace.Filter{Cursor: first.Next}).Has(&r); has != want || err != nil {
				t.Errorf("that the second page has what was due at %d is %v, %v", instant, has, err)
			}
		}
		if _, err := (sqltrace.Filter{Cursor: "x"}).Has(&want[0]); !errors.Is(err, sqltrace.ErrCursor) {
			t.Errorf("got %v", err)
		}
	})
}

// A cursor may come from a row of any job, whatever job the filter selects.
func TestCursorOfAnotherJob(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		rows := []trace.Row{run("a", 0, 10), run("b", 0, 10), run("b", 1, 10), run("c", 0, 10), run("b", 0, 20), run("b", 0, 5)}
		write(t, s, rows...)
		slices.SortFunc(rows, newest)
		for i := range rows {
			f := sqltrace.Filter{Job: "b", Cursor: sqltrace.After(&rows[i])}
			want := slices.DeleteFunc(slices.Clone(rows[i+1:]), func(r trace.Row) bool { return r.Job != "b" })
			if diff := gocmp.Diff(want, append(want[:0:0], all(t, s.Reader, f)...)); diff != "" {
				t.Errorf("after %s/%d at %d: %s", rows[i].Job, rows[i].Item, rows[i].Instant, diff)
			}
		}
	})
}

func TestRowsFeedTheChecker(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		long := run("j", 1, 40)
		long.Result, long.Error = "result", "error"
		write(t, s, run("other", 0, 40), run("j", 0, 60), long, run("j", 0, 40), gap("j", 1, 10, 30, 3), gap("j", 0, 10, 20, 2), run("j", 0, 70))
		var got []trace.Row
		for r, err := range s.Rows(t.Context(), "j", 20, 60) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		long.Result, long.Error = "", ""
		want := []trace.Row{gap("j", 1, 10, 30, 3), run("j", 0, 40), long, run("j", 0, 60)}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for range s.Rows(t.Context(), "j", 0, 100) {
			break // the connection must be released, or the next query hangs
		}
		write(t, s, run("j", 0, 80))
	})
}

func TestJobs(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		if jobs, err := s.Jobs(t.Context()); err != nil || len(jobs) > 0 {
			t.Errorf("%v %v in an empty history", jobs, err)
		}
		write(t, s, run("b", 0, 1), run("a", 0, 1), run("b", 1, 1), run("ä", 0, 1))
		if jobs, err := s.Jobs(t.Context()); err != nil || !slices.Equal(jobs, []string{"a", "b", "ä"}) {
			t.Errorf("%v %v", jobs, err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	for _, c := range []string{"", "e30", "eyJqIjoiYSJ9", "eyJ0IjoxLCJqIjoiYSIsImkiOjEsInIiOiJ4IiwiYSI6MX0", "%%%", "bnVsbA"} {
		f.Add(c)
	}
	s := openForFuzz(f)
	f.Fuzz(func(t *testing.T, c string) {
		if _, err := s.Query(t.Context(), sqltrace.Filter{Cursor: c, Limit: 1}); err != nil && !errors.Is(err, sqltrace.ErrCursor) {
			t.Errorf("%q: %v", c, err)
		}
	})
}

// Each of these filters has an index in the order of the page, so the database sorts nothing
// and reads no other rows.
func TestPagesHaveAnIndex(t *testing.T) {
	t.Parallel()
	s := open(t, locate(t))
	item := 1
	for index, f := range map[string]sqltrace.Filter{
		"instant": {}, "job": {Job: "a"}, "job_item": {Job: "a", Item: &item}, "state": {State: trace.Failed},
		"job_state": {Job: "a", State: trace.Failed}, "cause": {Cause: trace.Failover}, "job_cause": {Job: "a", Cause: trace.Failover},
	} {
		steps, err := s.Plan(t.Context(), f)
		if err != nil || len(steps) != 1 || !strings.Contains(steps[0]+" ", " USING INDEX wasmjobd_run_"+index+" ") {
			t.Errorf("%s: %q, %v", index, steps, err)
		}
	}
}

// A page ends where its texts exceed a bound, and the next one goes on there. A larger row has its own page.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := open(t, sqltrace.File(filepath.Join(t.TempDir(), "history.db")))
	var rows []trace.Row
	for i := range 10 {
		at := int64(1000 * (i + 1))
		rows = append(rows, trace.Row{
			Job: "j", Run: strconv.FormatInt(at, 10), Attempt: 1, Instant: at, Cause: trace.Schedule, State: trace.Failed,
			Result: strings.Repeat("r", 300), Error: strings.Repeat("e", 200), Log: strings.Repeat("l", 500), HasLog: true,
		})
	}
	if err := s.Write(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f    sqltrace.Filter
		want []int // rows of each page
	}{
		{sqltrace.Filter{}, []int{10}},
		{sqltrace.Filter{Bytes: 5000}, []int{10}}, // 5000 are not more
		{sqltrace.Filter{Bytes: 4999, Limit: 4}, []int{4, 4, 2}},
		{sqltrace.Filter{Bytes: 1600}, []int{4, 4, 2}},
		{sqltrace.Filter{Bytes: 1600, Logs: true}, []int{2, 2, 2, 2, 2}},
		{sqltrace.Filter{Bytes: 1}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		var got []int
		seen := map[string]bool{}
		for f := c.f; ; {
			page, err := s.Query(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(page.Rows))
			for i := range page.Rows {
				seen[page.Rows[i].Run] = true
			}
			if f.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		if !slices.Equal(got, c.want) || len(seen) != len(rows) {
			t.Errorf("%+v: pages of %v rows, %d in all", c.f, got, len(seen))
		}
	}
}
