package sqltrace_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// strange returns names that break statements made from text, collations, or character sets of
// three bytes.
func strange() []string {
	return []string{
		`'; DROP TABLE wasmjobd_run; --`, `"`, "`", `\`, `\'`, "''", "%", "_", "?", "$1", "a", "A", "a ", " a", "ä", "a\u0308", "😀", "𝄞", "-- ", "/*",
		"line\nbreak", "tab\t", "\x1b[31m", "\u202e", "<script>", strings.Repeat("n", sqltrace.MaxName), strings.Repeat("😀", sqltrace.MaxName/4) + "abc",
	}
}

func TestNamesAreKeptAsTheyAre(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		want := make([]trace.Row, 0, len(strange()))
		for _, name := range strange() {
			r := run(name, 0, 10)
			r.Run, r.Instance, r.TaskID, r.Error, r.Result, r.Digest, r.Schedule = name, name, name, name, name, name, name
			r.Reason, r.Log, r.HasLog = reason.Text(name), name, true
			want = append(want, r)
		}
		write(t, s, want...)
		write(t, s, want...)
		slices.SortFunc(want, newest)
		if diff := cmp.Diff(want, all(t, s.Reader, sqltrace.Filter{Limit: 3, Logs: true})); diff != "" {
			t.Error(diff)
		}
		jobs, err := s.Jobs(t.Context())
		if names := slices.Sorted(slices.Values(strange())); err != nil || !slices.Equal(jobs, names) {
			t.Errorf("jobs %q, %v", jobs, err)
		}
		for i := range want {
			rows := all(t, s.Reader, sqltrace.Filter{Job: want[i].Job, Run: want[i].Run})
			if diff := cmp.Diff(want[i:i+1], all(t, s.Reader, sqltrace.Filter{Job: want[i].Job, Run: want[i].Run, Logs: true})); diff != "" {
				t.Errorf("%q finds %d rows: %s", want[i].Job, len(rows), diff)
			}
		}
		if gone, err := s.Purge(t.Context(), sqltrace.Retention{PerJob: 1, Job: want[0].Job}); gone != 0 || err != nil {
			t.Errorf("%d gone, %v", gone, err)
		}
	})
}

// Rows that some database would refuse are refused before any database is asked; otherwise they
// would wait for ever.
func TestWhatSomeDatabaseRefuses(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		for name, spoil := range map[string]func(*trace.Row){
			"NUL in a job":        func(r *trace.Row) { r.Job = "a\x00b" },
			"NUL in a run":        func(r *trace.Row) { r.Run = "\x00" },
			"a byte of no text":   func(r *trace.Row) { r.Job = "\xff" },
			"a name too long":     func(r *trace.Row) { r.Job = strings.Repeat("n", sqltrace.MaxName+1) },
			"NUL in a cause":      func(r *trace.Row) { r.Cause = "\x00" },
			"a state of no text":  func(r *trace.Row) { r.State = "\xff" },
			"an item of 33 bits":  func(r *trace.Row) { r.Item = math.MaxInt32 + 1 },
			"attempts of 33 bits": func(r *trace.Row) { r.Attempt = math.MaxInt32 + 1 },
			"metrics of no text":  func(r *trace.Row) { r.Metrics = "{\"a\xff\":1}" },
		} {
			r := run("j", 0, 10)
			spoil(&r)
			if err := s.Write(t.Context(), []trace.Row{r}); !errors.Is(err, trace.ErrRow) {
				t.Errorf("%s: %v", name, err)
			}
		}
		most := run("j", math.MaxInt32, math.MaxInt64)
		most.Attempt, most.Last, most.Count, most.Start, most.End = math.MaxInt32, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64
		most.Fence, most.Fuel, most.Succeeded, most.Failed = math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64
		most.Code, most.HasCode, most.Metrics = math.MinInt32, true, `{"a":"`+strings.Repeat("x", sqltrace.MaxMetrics-8)+`"}`
		most.Error, most.Log, most.HasLog = strings.Repeat("😀", sqltrace.MaxError/4), strings.Repeat("l", sqltrace.MaxLog), true
		most.Result = strings.Repeat("\xff", sqltrace.MaxResult)
		write(t, s, most)
		if diff := cmp.Diff([]trace.Row{most}, all(t, s.Reader, sqltrace.Filter{Logs: true})); diff != "" {
			t.Error(diff)
		}
	})
}

// A filter with values that no row can have finds none, without an error.
func TestFiltersThatFindNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		s := open(t, loc)
		write(t, s, run("j", 0, 10))
		many, few := math.MaxInt32+1, -1
		for _, f := range []sqltrace.Filter{
			{Job: "a\x00"}, {Job: "\xff"}, {Run: "\x00"}, {State: "\x00"}, {Cause: "\xff"}, {Item: &many}, {Item: &few},
			{Job: strings.Repeat("j", 100_000)}, {Job: "' OR 1=1 --"}, {Job: "J"}, {Job: "j "}, {State: "' OR '1'='1"},
		} {
			if rows := all(t, s.Reader, f); len(rows) > 0 {
				t.Errorf("%+v finds %d rows", f, len(rows))
			}
		}
	})
}

// Servers that start together create the tables once.
func TestManyOpenTogether(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		const servers = 6
		errs := make(chan error, servers)
		for range servers {
			go func() { // its result is awaited below
				s, err := sqltrace.Open(t.Context(), loc)
				if err == nil {
					err = s.Close()
				}
				errs <- err
			}()
		}
		for range servers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		db, err := loc.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var versions int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM wasmjobd_schema").Scan(&versions); err != nil || versions != 3 {
			t.Errorf("%d versions, %v", versions, err)
		}
	})
}
