package trace_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// every is a schedule with an instant at each multiple of 10.
func every(after, upTo int64, yield func(int64) bool) {
	for t := (after/10 + 1) * 10; t <= upTo; t += 10 {
		if !yield(t) {
			return
		}
	}
}

// run returns a final row of item 0 at an instant.
func run(instant int64) trace.Row {
	return trace.Row{Job: "j", Run: strconv.FormatInt(instant, 10), Attempt: 1, Instant: instant,
		Cause: trace.Schedule, State: trace.Succeeded}
}

func attempt(instant int64, n int, s trace.State) trace.Row {
	r := run(instant)
	r.Attempt, r.State = n, s
	return r
}

func gap(first, last, count int64) trace.Row {
	return trace.Row{Job: "j", Run: "gap-" + strconv.FormatInt(first, 10), Instant: first, Last: last, Count: count,
		Cause: trace.Schedule, State: trace.Missed}
}

// asked returns the next attempt of a run, which an operator asked for.
func asked(c trace.Cause, r trace.Row) trace.Row {
	r.Cause = c
	return r
}

func trigger(id string, instant int64, n int, s trace.State) trace.Row {
	return trace.Row{Job: "j", Run: id, Attempt: n, Instant: instant, Cause: trace.Trigger, State: s}
}

func item(i int, r trace.Row) trace.Row {
	r.Item = i
	return r
}

func seq(rows []trace.Row) iter.Seq2[trace.Row, error] {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b trace.Row) int {
		return cmp.Or(cmp.Compare(a.Instant, b.Instant), cmp.Compare(a.Item, b.Item),
			cmp.Compare(a.Run, b.Run), cmp.Compare(a.Attempt, b.Attempt))
	})
	return func(yield func(trace.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// under sets the schedule of a row.
func under(schedule string, r trace.Row) trace.Row {
	r.Schedule = schedule
	return r
}

// other returns the instants of the schedule "7s", the only other one that is known.
func other(schedule string) trace.Instants {
	if schedule != "7s" {
		return nil
	}
	return func(after, upTo int64, yield func(int64) bool) {
		for t := (after/7 + 1) * 7; t <= upTo && yield(t); t += 7 {
		}
	}
}

func fixed(t int64) func(int) int64 { return func(int) int64 { return t } }

// brief formats findings as "kind item first-last count".
func brief(findings []trace.Finding) string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s %d %d-%d %d", f.Kind, f.Item, f.First, f.Last, f.Count))
	}
	return strings.Join(out, "; ")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	lax := trace.CheckInput{To: 1000}
	window := func(from, to int64) trace.CheckInput {
		return trace.CheckInput{From: from, To: to, Start: fixed(from), Open: fixed(to)}
	}
	tests := []struct {
		name string
		in   trace.CheckInput
		rows []trace.Row
		want string
	}{
		{"nothing known, nothing wanted", lax, nil, ""},
		{"no row at all in a strict window", window(0, 50), nil, "missing 0 10-50 5"},
		{"runs and gaps in turn", window(0, 60), []trace.Row{run(10), gap(20, 40, 3), run(50), run(60)}, ""},
		{"a failed run tried again by an operator", lax, []trace.Row{attempt(10, 1, trace.Failed), asked(trace.Retry, attempt(10, 2, trace.Succeeded)), run(20)}, ""},
		{"tried again by nobody", lax, []trace.Row{attempt(10, 1, trace.Failed), attempt(10, 2, trace.Succeeded), run(20)}, "doubled 0 10-10 0"},
		{"a trigger tried again, whose first attempt has another instant", lax, []trace.Row{trigger("t1", 11, 1, trace.Failed), asked(trace.Retry, trigger("t1", 12, 2, trace.Succeeded))}, ""},
		{"a missed instant that an operator has run", lax, []trace.Row{gap(10, 30, 3), asked(trace.Backfill, run(20)), run(40)}, ""},
		{"hole in the middle", lax, []trace.Row{run(10), run(40), run(50)}, "missing 0 20-30 2"},
		{"hole of one instant", lax, []trace.Row{run(10), run(30)}, "missing 0 20-20 1"},
		{"hole after a gap", lax, []trace.Row{gap(10, 30, 3), run(50)}, "missing 0 40-40 1"},
		{"ranges are merged across items apart", lax,
			[]trace.Row{run(10), item(1, run(10)), run(40), item(1, run(20)), item(1, run(50))},
			"missing 0 20-30 2; missing 1 30-40 2"},
		{"ends are not looked at by default", trace.CheckInput{To: 1000}, []trace.Row{run(50), run(60)}, ""},
		{"ends are looked at in a strict window", window(20, 90), []trace.Row{run(50), run(60)},
			"missing 0 30-40 2; missing 0 70-90 3"},
		{"an open end of its own", trace.CheckInput{To: 1000, Open: fixed(80)}, []trace.Row{run(50)}, "missing 0 60-80 3"},
		{"a run that may still go on", lax, []trace.Row{run(10), attempt(30, 1, trace.Skipped), attempt(40, 1, trace.Skipped)}, ""},
		{"a run that cannot go on, since the item ran again", lax,
			[]trace.Row{run(10), attempt(30, 1, trace.Skipped), run(40)}, "missing 0 20-20 1"},
		{"a run that may still go on, yet must have ended", window(0, 30), []trace.Row{run(10), attempt(30, 1, trace.Skipped)},
			"missing 0 20-20 1"},
		{"two runs cannot both go on", lax,
			[]trace.Row{run(10), attempt(30, 1, trace.Skipped), attempt(50, 1, trace.Skipped)}, "missing 0 20-20 1"},
		{"gap reaches into the window", window(30, 60), []trace.Row{gap(10, 40, 4), run(50), run(60)}, ""},
		{"gap reaches into the window and counts wrong", window(30, 60), []trace.Row{gap(10, 40, 3), run(50), run(60)},
			"count 0 10-40 4"},
		{"gap reaches out of the window", window(0, 30), []trace.Row{run(10), gap(20, 50, 4)}, ""},
		{"gap reaches out of the window and counts wrong", window(0, 30), []trace.Row{run(10), gap(20, 50, 5)}, "count 0 20-50 4"},
		{"rows outside the window are nobody's business", window(30, 50),
			[]trace.Row{run(10), run(20), run(40), run(50), run(70)}, ""},
		{"gap counts too few", lax, []trace.Row{run(10), gap(20, 40, 2), run(50)}, "count 0 20-40 3"},
		{"gap counts too many", lax, []trace.Row{run(10), gap(20, 40, 4), run(50)}, "count 0 20-40 3"},
		{"run inside a gap", lax, []trace.Row{gap(10, 40, 4), run(20), run(50)}, "overlap 0 20-20 0"},
		{"run at a gap's first instant", lax, []trace.Row{run(10), gap(10, 30, 3)}, "overlap 0 10-10 0"},
		{"gaps overlap", lax, []trace.Row{gap(10, 40, 4), gap(30, 60, 4)}, "overlap 0 30-40 0"},
		{"gap twice", lax, []trace.Row{gap(10, 40, 4), gap(10, 40, 4)}, "overlap 0 10-40 0"},
		{"gap ends between instants", lax, []trace.Row{gap(10, 45, 4), run(50)}, "unscheduled 0 10-45 0"},
		{"gap begins between instants", lax, []trace.Row{run(10), gap(15, 40, 3), run(50)}, "unscheduled 0 15-15 0"},
		{"run between instants", lax, []trace.Row{run(10), run(15), run(20)}, "unscheduled 0 15-15 0"},
		{"two ends of one run", lax, []trace.Row{attempt(10, 1, trace.Succeeded), attempt(10, 2, trace.Failed)}, "doubled 0 10-10 0"},
		{"one attempt twice", lax, []trace.Row{attempt(10, 1, trace.TakenOver), attempt(10, 1, trace.TakenOver), attempt(10, 2, trace.Succeeded)},
			"doubled 0 10-10 0"},
		{"taken over and retried, then done", window(0, 10),
			[]trace.Row{attempt(10, 1, trace.TakenOver), attempt(10, 2, trace.Retried), attempt(10, 3, trace.Failed)}, ""},
		{"attempt lost in between", lax, []trace.Row{attempt(10, 1, trace.TakenOver), attempt(10, 3, trace.Succeeded)}, "hole 0 10-10 0"},
		{"first attempt lost", lax, []trace.Row{attempt(10, 2, trace.Succeeded)}, "hole 0 10-10 0"},
		{"skipped without any attempt", window(0, 10), []trace.Row{attempt(10, 0, trace.Skipped)}, ""},
		{"succeeded without any attempt", lax, []trace.Row{attempt(10, 0, trace.Succeeded)}, "hole 0 10-10 0"},
		{"taken over and never seen again", lax, []trace.Row{attempt(10, 1, trace.TakenOver), run(20)}, "dangling 0 10-10 0"},
		{"taken over a moment ago", lax, []trace.Row{run(10), attempt(20, 1, trace.TakenOver)}, ""},
		{"taken over, then skipped", lax, []trace.Row{attempt(10, 1, trace.TakenOver), attempt(20, 1, trace.Skipped)}, ""},
		{"taken over and the window is closed", window(0, 20), []trace.Row{run(10), attempt(20, 1, trace.TakenOver)}, "dangling 0 20-20 0"},
		{"an end and another attempt after it", window(0, 10), []trace.Row{attempt(10, 1, trace.Succeeded), attempt(10, 2, trace.Retried)},
			"dangling 0 10-10 0"},
		{"triggers are no instants", window(0, 20), []trace.Row{run(10), trigger("t1", 13, 1, trace.Succeeded), run(20)}, ""},
		{"a trigger accounts for no instant", window(0, 20), []trace.Row{run(10), trigger("20", 20, 1, trace.Succeeded)}, "missing 0 20-20 1"},
		{"a trigger taken over by failover", window(0, 10),
			[]trace.Row{run(10), trigger("t1", 7, 1, trace.TakenOver), func() trace.Row {
				r := trigger("t1", 7, 2, trace.Succeeded)
				r.Cause = trace.Failover
				return r
			}()}, ""},
		{"a trigger that dangles", lax, []trace.Row{run(10), trigger("t1", 13, 1, trace.Retried), run(20)}, "dangling 0 13-13 0"},
		{"run id is not its instant", lax, []trace.Row{run(10), func() trace.Row {
			r := run(20)
			r.Run = "30"
			return r
		}(), run(20), run(30)}, "malformed 0 20-20 0"},
		{"gap that ends before it begins", lax, []trace.Row{run(30), gap(40, 20, 1), run(50)}, "malformed 0 40-40 0"},
		{"items without rows in a strict window", trace.CheckInput{Items: []int{0, 1}, To: 20, Start: fixed(0), Open: fixed(20)},
			[]trace.Row{item(1, run(10)), item(1, run(20))}, "missing 0 10-20 2"},
		{"an item that is younger than the others", trace.CheckInput{Items: []int{0, 1}, To: 1000},
			[]trace.Row{run(10), run(20), run(30), item(1, run(30)), item(1, run(40))}, ""},
		{"an item that the job has no more", window(0, 40),
			[]trace.Row{run(10), run(20), run(30), run(40), item(7, run(10)), item(7, run(40))}, "missing 7 20-30 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := tt.in
			in.Job, in.Instants, in.Rows = "j", every, seq(tt.rows)
			if in.Items == nil {
				in.Items = []int{0}
			}
			got, err := trace.Check(in)
			if err != nil {
				t.Fatal(err)
			}
			if b := brief(got.Findings); b != tt.want {
				t.Errorf("got  %s\nwant %s", b, tt.want)
			}
		})
	}
}

// Rows are checked against their own schedule. A run under an earlier schedule is no finding by
// itself, but faults in it are.
func TestCheckWhereTheScheduleChanged(t *testing.T) {
	t.Parallel()
	changed := func(more ...trace.Row) []trace.Row {
		return append(more, under("7s", run(7)), under("7s", run(14)), under("7s", gap(21, 28, 2)), under("10s", gap(40, 50, 2)), under("10s", run(60)))
	}
	lax := trace.CheckInput{To: 1000}
	strict := trace.CheckInput{To: 70, From: 0, Start: fixed(0), Open: fixed(60)}
	tests := []struct {
		name string
		in   trace.CheckInput
		rows []trace.Row
		want string
	}{
		{"each by its own", lax, changed(), ""},
		{"a window from before the change to after it", strict, changed(), ""},
		{"nothing runs any more", trace.CheckInput{To: 80, Start: fixed(0), Open: fixed(80)}, changed(), "missing 0 70-80 2"},
		{"a hole before the change", lax, []trace.Row{under("7s", run(7)), under("7s", run(28)), under("10s", run(40))}, "missing 0 14-21 2"},
		{"a hole at the window's begin", strict, changed()[1:], "missing 0 7-7 1"},
		{"a hole after the change", lax, changed(under("10s", run(90))), "missing 0 70-80 2"},
		{"a run at an instant of the other one", lax, changed(under("10s", run(77))), "missing 0 70-70 1; unscheduled 0 77-77 0"},
		{"another item under the one before", lax, changed(item(1, under("7s", run(7))), item(1, under("7s", run(28)))), "missing 1 14-21 2"},
		{"a wrong count before the change", lax, []trace.Row{under("7s", gap(7, 21, 2)), under("10s", run(30))}, "count 0 7-21 3"},
		{"what dangles where it changed", lax, []trace.Row{under("7s", attempt(7, 1, trace.TakenOver)), under("10s", run(30))}, "dangling 0 7-7 0"},
		{"a take-over by who saw the change earlier", lax, []trace.Row{under("7s", attempt(14, 1, trace.TakenOver)), under("10s", attempt(14, 2, trace.Succeeded)), under("10s", run(30))}, ""},
		{"a trigger belongs to none", lax, changed(trigger("t1", 41, 1, trace.Succeeded)), ""},
		{"one that nobody knows", lax, []trace.Row{under("13s", run(13)), under("13s", run(20)), under("10s", run(30)), under("10s", run(50))}, "missing 0 40-40 1"},
		{"rows of an older release", lax, []trace.Row{run(10), run(20), under("10s", run(30)), under("10s", run(50))}, "missing 0 40-40 1"},
		{"there and back", lax, []trace.Row{run(10), under("7s", run(14)), under("7s", run(21)), under("10s", run(40))}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := tt.in
			in.Job, in.Items, in.Instants, in.Rows = "j", []int{0}, every, seq(tt.rows)
			in.Schedule, in.Of = "10s", other
			got, err := trace.Check(in)
			if err != nil || brief(got.Findings) != tt.want {
				t.Errorf("%q, %v; want %q", brief(got.Findings), err, tt.want)
			}
		})
	}
}

// If a job runs after others, its instants are theirs and not checked. A run that ended twice
// is still a finding.
func TestCheckOfInstantsElsewhere(t *testing.T) {
	t.Parallel()
	in := trace.CheckInput{Job: "j", Items: []int{0}, To: 100, Elsewhere: true, Instants: func(int64, int64, func(int64) bool) {}}
	in.Rows = seq([]trace.Row{run(11), run(12), run(12)})
	report, err := trace.Check(in)
	if got := brief(report.Findings); err != nil || got != "doubled 0 12-12 0" {
		t.Errorf("found %q, error %v", got, err)
	}
}

func TestCheckRefusesRowsItCannotCheck(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]iter.Seq2[trace.Row, error]{
		"out of order": func(yield func(trace.Row, error) bool) { _ = yield(run(20), nil) && yield(run(10), nil) },
		"another job": func(yield func(trace.Row, error) bool) {
			r := run(10)
			r.Job = "k"
			yield(r, nil)
		},
		"an error of the store": func(yield func(trace.Row, error) bool) { yield(trace.Row{}, broken) },
	}
	for name, rows := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := trace.Check(trace.CheckInput{Job: "j", Instants: every, To: 100, Rows: rows}); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestCheckBoundsItsFindings(t *testing.T) {
	t.Parallel()
	var rows []trace.Row
	for i := int64(1); i <= 100; i++ {
		rows = append(rows, run(i*30))
	}
	got, err := trace.Check(trace.CheckInput{Job: "j", Items: []int{0}, Instants: every, To: 10_000, Rows: seq(rows), Limit: 9})
	if err != nil || len(got.Findings) != 9 || got.More != 90 {
		t.Errorf("%d findings and %d more, %v; want 9 and 90", len(got.Findings), got.More, err)
	}
}

func TestFindingText(t *testing.T) {
	t.Parallel()
	f := trace.Finding{Kind: trace.Missing, Job: "j", Item: 2, First: 1_000, Last: 61_500, Count: 3, Detail: "3 scheduled instants have no row"}
	want := "missing: j item 2, 1970-01-01T00:00:01Z to 1970-01-01T00:01:01.5Z: 3 scheduled instants have no row"
	if got := f.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := f.Text(time.FixedZone("", 3600)); !strings.Contains(got, "1970-01-01T01:00:01+01:00") {
		t.Errorf("no local time in %s", got)
	}
	b, err := json.Marshal(f)
	want = `{"kind":"missing","job":"j","item":2,"first":"1970-01-01T00:00:01Z","first_unix_ms":1000,` +
		`"last":"1970-01-01T00:01:01.5Z","last_unix_ms":61500,"count":3,"detail":"3 scheduled instants have no row"}`
	if err != nil || string(b) != want {
		t.Errorf("got  %s %v\nwant %s", b, err, want)
	}
}
