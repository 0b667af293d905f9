package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// backfilled is a job of three items that missed the instants of three minutes in a pause.
type backfilled struct {
	*Operator
	rows *pile
	from time.Time // the first missed instant
	seen func() []string
	wait func(time.Duration)
}

// onBackfilled runs play on a backfilled job, in virtual time.
func onBackfilled(t *testing.T, play func(*testing.T, *backfilled)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		reg, b := embedded.Memory(), &backfilled{rows: &pile{}, wait: func(d time.Duration) { time.Sleep(d) }}
		var mu sync.Mutex
		var seen []string
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 3}}, Sinks: []trace.Sink{b.rows},
			Runner: host.Func(func(_ context.Context, c job.Call) job.Outcome {
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, fmt.Sprintf("%d %s %s", c.Item, c.RunID, c.Scheduled.UTC().Format(time.TimeOnly)))
				return job.Outcome{Verdict: job.OK}
			}),
		})
		<-h.Ready()
		b.Operator = operate(t, reg)
		b.Recall(b.rows.history)
		time.Sleep(70 * time.Second)
		if err := b.Pause(t.Context(), "j", PauseTerms{}); err != nil {
			t.Fatal(err)
		}
		b.from = time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(3 * time.Minute)
		if err := b.Resume(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // past the instant that writes their row
		b.seen = func() []string {
			mu.Lock()
			defer mu.Unlock()
			all := seen
			seen = nil
			return all
		}
		b.seen()
		play(t, b)
		if err := errors.Join(b.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A backfill in a pause says so, and waits until the pause ends.
func TestBackfillInAPause(t *testing.T) {
	t.Parallel()
	onBackfilled(t, func(t *testing.T, b *backfilled) {
		ctx := t.Context()
		r := BackfillRange{From: b.from, To: b.from.Add(time.Minute), Items: []int{1}, DryRun: true}
		if plan, err := b.Backfill(ctx, "j", r); err != nil || plan.Paused {
			t.Errorf("before: %+v, %v", plan, err)
		}
		if err := b.Pause(ctx, "j", PauseTerms{For: 30 * time.Second}); err != nil {
			t.Fatal(err)
		}
		for _, r.DryRun = range []bool{true, false} {
			if plan, err := b.Backfill(ctx, "j", r); err != nil || len(plan.Items) != 1 || !plan.Paused {
				t.Errorf("dry run %t: %+v, %v", r.DryRun, plan, err)
			}
		}
		if b.wait(10 * time.Second); len(b.seen()) > 0 {
			t.Error("it ran in the pause")
		}
		b.wait(30 * time.Second)
		if seen := b.seen(); len(seen) != 1 || !strings.Contains(seen[0], b.run(b.from)) {
			t.Errorf("after the pause ran %q", seen)
		}
	})
}

func (b *backfilled) run(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }

// The instants in a row of missed ones run once, the oldest first, each under the id of its
// instant, and the history shows that they were requested. A dry run shows first which would
// run, and why the others would not.
func TestBackfill(t *testing.T) {
	t.Parallel()
	onBackfilled(t, func(t *testing.T, b *backfilled) {
		ctx := t.Context()
		r := BackfillRange{From: b.from.Add(-time.Minute), To: b.from.Add(2 * time.Minute), Items: []int{2, 0}, DryRun: true}
		plan, err := b.Backfill(ctx, "j", r)
		if err != nil {
			t.Fatal(err)
		}
		instants := []time.Time{b.from, b.from.Add(time.Minute)}
		before := b.from.Add(-time.Minute)
		want := Backfill{
			Job: "j", DryRun: true, Items: []BackfillItem{{0, instants}, {2, instants}},
			LeftOut: []BackfillLeftOut{{0, "its row says succeeded", 1, before, before}, {2, "its row says succeeded", 1, before, before}},
		}
		if diff := cmp.Diff(want, plan); diff != "" {
			t.Fatal(diff)
		}
		if b.wait(10 * time.Second); len(b.seen()) > 0 {
			t.Error("a dry run let something run")
		}

		r.DryRun, r.Key = false, "k"
		if plan, err = b.Backfill(ctx, "j", r); err != nil || len(plan.Items) != 2 || plan.Again {
			t.Fatalf("%+v, %v", plan, err)
		}
		if plan, err = b.Backfill(ctx, "j", r); err != nil || !plan.Again || len(plan.Items) != 0 {
			t.Errorf("with the same key: %+v, %v", plan, err)
		}
		b.wait(10 * time.Second)
		seen := b.seen()
		for _, item := range []string{"0", "2"} {
			var of []string
			for _, x := range seen {
				if strings.HasPrefix(x, item) {
					of = append(of, x)
				}
			}
			at := func(t time.Time) string {
				return item + " j/" + item + "/" + b.run(t) + " " + t.UTC().Format(time.TimeOnly)
			}
			if diff := cmp.Diff([]string{at(instants[0]), at(instants[1])}, of); diff != "" {
				t.Errorf("item %s: %s", item, diff)
			}
		}
		if diff := cmp.Diff([]string{"0/1 backfill succeeded", "2/1 backfill succeeded"}, b.rows.of(b.run(b.from))); diff != "" {
			t.Error(diff)
		}
		if plan, err = b.Backfill(ctx, "j", r); err != nil || !plan.Again {
			t.Errorf("with the same key, later: %+v, %v", plan, err)
		}
		r.Key = ""
		_, err = b.Backfill(ctx, "j", r)
		wantCode(t, "what has run", err, host.Refused)
		audit, err := b.Audit(ctx, AuditFilter{Job: "j", Verb: "backfill"})
		if err != nil || len(audit) != 1 || !strings.HasSuffix(audit[0].Detail, "runs=4 items=0,2") {
			t.Errorf("the audit has %+v, %v", audit, err)
		}
	})
}

func TestBackfillIsCancelled(t *testing.T) {
	t.Parallel()
	onBackfilled(t, func(t *testing.T, b *backfilled) {
		ctx := t.Context()
		r := BackfillRange{From: b.from, To: b.from.Add(10 * time.Minute)}
		plan, err := b.Backfill(ctx, "j", r)
		if err != nil || len(plan.Items) != 3 {
			t.Fatalf("%+v, %v", plan, err)
		}
		b.wait(500 * time.Millisecond) // the first of each item runs
		_, err = b.Backfill(ctx, "j", r)
		wantCode(t, "twice", err, host.Refused)
		r.DryRun = true
		if plan, err = b.Backfill(ctx, "j", r); err != nil || len(plan.Items) != 0 || plan.LeftOut[0].Why != "it has begun" || plan.LeftOut[1].Why != "instants of the item wait already; wait, or cancel that backfill" {
			t.Errorf("while it runs: %+v, %v", plan, err)
		}
		if report, err := b.Job(ctx, "j"); err != nil || report.Items[1].Backfill != 2 {
			t.Errorf("the report says %+v, %v", report.Items, err)
		}
		for range 2 { // the second finds nothing to do
			if err := b.CancelBackfill(ctx, "j", []int{1}); err != nil {
				t.Fatal(err)
			}
		}
		b.wait(10 * time.Second)
		if n := len(b.seen()); n != 7 {
			t.Errorf("%d of 9 runs, of which two were cancelled", n)
		}
	})
}

// A server that does not answer may have run an instant. Without its history nothing begins,
// unless the operator forces it.
func TestBackfillWithoutAHistory(t *testing.T) {
	t.Parallel()
	onBackfilled(t, func(t *testing.T, b *backfilled) {
		b.Recall(func(ctx context.Context, name string, item *int, upTo time.Time) ([]trace.Row, []string, error) {
			rows, _, err := b.rows.history(ctx, name, item, upTo)
			return rows, []string{"10.0.0.9"}, err
		})
		r := BackfillRange{From: b.from, To: b.from.Add(2 * time.Minute), Items: []int{0}}
		if _, err := b.Backfill(t.Context(), "j", r); !isCode(err, host.Unavailable) || !strings.Contains(err.Error(), "10.0.0.9") {
			t.Errorf("a server is silent: %v", err)
		}
		r.Force = true
		if plan, err := b.Backfill(t.Context(), "j", r); err != nil || len(plan.Items) != 1 {
			t.Errorf("it does not matter: %+v, %v", plan, err)
		}
	})
}

// Two operators plan the same backfill concurrently, and each instant runs once.
func TestBackfillIsPlannedAnew(t *testing.T) {
	t.Parallel()
	onBackfilled(t, func(t *testing.T, b *backfilled) {
		r := BackfillRange{From: b.from, To: b.from.Add(2 * time.Minute), Items: []int{0}}
		other, plan := false, 0
		b.Recall(func(ctx context.Context, name string, item *int, upTo time.Time) ([]trace.Row, []string, error) {
			rows, _, err := b.rows.history(ctx, name, item, upTo)
			if !other { // the first read is overtaken by another backfill
				other = true
				done, err := b.Backfill(ctx, name, r)
				if plan = len(done.Items); err != nil {
					t.Error(err)
				}
				b.wait(10 * time.Second)
			}
			return rows, nil, err
		})
		if _, err := b.Backfill(t.Context(), "j", r); plan != 1 || !isCode(err, host.Unavailable) {
			t.Errorf("the one is answered %v, the other has %d items", err, plan)
		}
		if seen := b.seen(); len(seen) != 2 {
			t.Errorf("there were %q", seen)
		}
	})
}

func TestBackfillThatCannotBe(t *testing.T) {
	t.Parallel()
	onBackfilled(t, func(t *testing.T, b *backfilled) {
		ctx := t.Context()
		far := BackfillRange{From: b.from, To: b.from.Add(10 * time.Minute)}
		with := func(change func(*BackfillRange)) BackfillRange {
			r := far
			change(&r)
			return r
		}
		for name, c := range map[string]struct {
			r    BackfillRange
			code host.Code
		}{
			"nothing":       {with(func(r *BackfillRange) { r.To = r.From }), host.Invalid},
			"before 1970":   {with(func(r *BackfillRange) { r.From = time.Unix(-1, 0) }), host.Invalid},
			"too long":      {with(func(r *BackfillRange) { r.From = r.From.Add(-17 * time.Hour) }), host.Invalid},
			"no item":       {with(func(r *BackfillRange) { r.Items = []int{3} }), host.Refused},
			"negative":      {with(func(r *BackfillRange) { r.Items = []int{-1} }), host.Invalid},
			"twice":         {with(func(r *BackfillRange) { r.Items = []int{1, 1} }), host.Invalid},
			"bad key":       {with(func(r *BackfillRange) { r.Key = "ü" }), host.Invalid},
			"no instant":    {with(func(r *BackfillRange) { r.From, r.To = r.From.Add(time.Second), r.From.Add(2*time.Second) }), host.Refused},
			"nothing of it": {with(func(r *BackfillRange) { r.From, r.To = r.From.Add(-time.Minute), r.From }), host.Refused},
		} {
			_, err := b.Backfill(ctx, "j", c.r)
			wantCode(t, name, err, c.code)
		}
		_, err := b.Backfill(ctx, "other", far)
		wantCode(t, "another job", err, host.NotFound)
		wantCode(t, "cancelled of no item", b.CancelBackfill(ctx, "j", []int{-1}), host.Invalid)
		if err := b.SetItem(ctx, "j", 1, true); err != nil {
			t.Fatal(err)
		}
		dry := with(func(r *BackfillRange) { r.DryRun = true })
		if plan, err := b.Backfill(ctx, "j", dry); err != nil || len(plan.Items) != 2 {
			t.Errorf("beside a disabled item: %+v, %v", plan, err)
		}
		dry.Items = []int{1}
		_, err = b.Backfill(ctx, "j", dry)
		wantCode(t, "disabled", err, host.Refused)
		put(t, b.Operator, registry.CreateEphemeral, layout.NewJob("jobs", "j").Instance("10.0.0.9@-@1"), "")
		_, err = b.Backfill(ctx, "j", far)
		if wantCode(t, "beside ElasticJob", err, host.Refused); strings.Contains(err.Error(), "trigger") {
			t.Errorf("it names another verb: %v", err)
		}
	})
}

// A run that is open or waits has begun, whoever began it. One out of the range is not named.
func TestBackfillLeavesOutWhatIsOpen(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(60_000)
	for _, open := range []protocol.Entry{{Instant: 60_000}, {Instant: 61_500, Trigger: "60000"}} {
		v := &protocol.View{Config: &protocol.Config{Total: 1}, Items: make([]protocol.Item, 1), Runs: []protocol.Runs{{RunsData: &protocol.RunsData{Open: []protocol.Entry{open, {Instant: 59_000}}}}}}
		p := backfillPlan{name: "j", r: BackfillRange{From: at, To: at.Add(time.Second)}, view: v, due: []int64{60_000}}
		var b Backfill
		if _, err := p.item(0, nil, &b); err != nil || !cmp.Equal(b.LeftOut, []BackfillLeftOut{{0, "it has begun", 1, at, at}}) {
			t.Errorf("%+v: left out %+v, %v", open, b.LeftOut, err)
		}
	}
}

// An instant of several attempts is left out because of the last one, whatever the order of
// the rows.
func TestBackfillGoesByTheLastAttempt(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(60_000)
	row := func(attempt int, s trace.State) trace.Row {
		return trace.Row{Run: "60000", Instant: 60_000, Attempt: attempt, State: s}
	}
	for _, c := range []struct {
		rows []trace.Row
		want string
	}{
		{[]trace.Row{row(1, trace.Retried), row(2, trace.Succeeded)}, "its row says succeeded"},
		{[]trace.Row{row(1, trace.TakenOver), row(2, trace.Retried), row(3, trace.Failed)}, "it ran and is failed; job retry runs it again"},
		{[]trace.Row{row(1, trace.Retried)}, "its row says retried"},
		{[]trace.Row{row(0, trace.Missed), row(1, trace.Retried), row(2, trace.Succeeded)}, "its row says succeeded"},
		{[]trace.Row{{Instant: 60_000, Last: 60_000, Count: 1, Schedule: "0 * * * * ?", State: trace.Skipped}, row(1, trace.Retried), row(2, trace.Succeeded)}, "its row says succeeded"},
	} {
		for range 2 {
			p := backfillPlan{name: "j", r: BackfillRange{From: at, To: at.Add(time.Second)}, view: &protocol.View{Config: &protocol.Config{Total: 1}, Items: make([]protocol.Item, 1)}}
			var b Backfill
			it, err := p.item(0, c.rows, &b)
			if want := []BackfillLeftOut{{0, c.want, 1, at, at}}; err != nil || len(it.Instants) != 0 || !cmp.Equal(b.LeftOut, want) {
				t.Errorf("%+v: %+v, left out %+v, want %+v: %v", c.rows, it, b.LeftOut, want, err)
			}
			slices.Reverse(c.rows)
		}
	}
}
