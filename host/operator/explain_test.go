package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// TestExplain asks about item 0 of a job that fires each hour, at 02:00; it is 02:30.
func TestExplain(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 2, 0, 0, 0, time.UTC)
	before := at.Add(-time.Hour)
	idle := ItemReport{Owner: "b@-@1", Accounted: before}
	missed := trace.Row{Run: "gap", Instant: before.UnixMilli(), Last: at.Add(time.Hour).UnixMilli(), Count: 3, State: trace.Missed, Reason: reason.Of(reason.JobPaused)}
	ended := trace.Row{Run: "1", Attempt: 1, Instant: at.UnixMilli(), State: trace.Retried, Start: at.UnixMilli(), End: at.UnixMilli() + 1, Reason: reason.Of(reason.Failed)}
	again := ended
	again.Attempt, again.State, again.Reason = 2, trace.Succeeded, reason.Reason{}
	for _, test := range []struct {
		name    string
		change  func(j *JobReport, it *ItemReport)
		rows    []trace.Row
		audit   []AuditRow
		at      time.Time // zero: 02:00
		verdict string
		why     reason.Code
		server  job.InstanceID
		since   time.Time
	}{
		{name: "ran", rows: []trace.Row{ended, again}, verdict: Ran, since: at},
		{name: "failed, and was retried in vain", rows: []trace.Row{ended}, verdict: Ran, why: reason.Failed, since: at},
		{name: "waits for its next attempt", rows: []trace.Row{ended}, change: func(_ *JobReport, it *ItemReport) { it.Retry = at.Add(time.Hour) }, verdict: Waits, why: reason.Failed, since: at},
		{name: "in a gap", rows: []trace.Row{missed}, verdict: DidNotRun, why: reason.JobPaused, since: before},
		{name: "after the end of a gap", rows: []trace.Row{missed}, at: at.Add(-2 * time.Hour), change: func(_ *JobReport, it *ItemReport) { it.Accounted = time.Time{} }, verdict: NotBegun, why: reason.NotBegun, server: "b@-@1"},
		{name: "row of another item", rows: []trace.Row{{Item: 1, Instant: at.UnixMilli(), State: trace.Succeeded}}, verdict: NotBegun, why: reason.NotBegun, server: "b@-@1"},
		{name: "skipped before it began", rows: []trace.Row{{Attempt: 1, Instant: at.UnixMilli(), State: trace.Skipped, Reason: reason.Of(reason.StillRunning)}}, verdict: DidNotRun, why: reason.StillRunning, since: at},
		{name: "its guest skipped", rows: []trace.Row{{Attempt: 1, Instant: at.UnixMilli(), Start: at.UnixMilli(), State: trace.Skipped}}, verdict: Ran, since: at},
		{name: "runs", change: func(_ *JobReport, it *ItemReport) {
			it.Runner, it.Run = "a@-@1", RunReport{Instant: at, Begun: at.Add(time.Second)}
		}, verdict: RunsNow, server: "a@-@1", since: at.Add(time.Second)},
		{name: "waits after a death", change: func(_ *JobReport, it *ItemReport) { it.Pending, it.Run = true, RunReport{Instant: at} }, verdict: Waits, why: reason.TakeoverAwaited, server: "b@-@1"},
		{name: "no instant", at: at.Add(time.Minute), verdict: NotDue},
		{name: "to come", at: at.Add(time.Hour), verdict: NotYet},
		{name: "row elsewhere", change: func(_ *JobReport, it *ItemReport) { it.Accounted = at }, verdict: NoRow, server: "b@-@1"},
		{name: "the run before goes on", change: func(_ *JobReport, it *ItemReport) {
			it.Runner, it.Run = "a@-@1", RunReport{Instant: before, Begun: before}
		}, verdict: NotBegun, why: reason.StillRunning, server: "a@-@1", since: before},
		{name: "paused", change: func(j *JobReport, _ *ItemReport) { j.Paused = true }, audit: []AuditRow{
			{Verb: "job resume", At: at}, {Verb: "job pause", At: before}, {Verb: "job pause", At: before.Add(-time.Hour)},
		}, verdict: NotBegun, why: reason.JobPaused, since: before},
		{name: "in a pause that is over", change: func(j *JobReport, _ *ItemReport) {
			j.EndedPause = PauseReport{Since: before, Until: at.Add(time.Minute)}
		}, verdict: NotBegun, why: reason.JobPaused, since: before},
		{name: "when a pause ended", change: func(j *JobReport, _ *ItemReport) {
			j.EndedPause = PauseReport{Since: before, Until: at}
		}, verdict: NotBegun, why: reason.NotBegun, server: "b@-@1"},
		{name: "before a pause that goes on", change: func(j *JobReport, _ *ItemReport) {
			j.Paused, j.Pause = true, PauseReport{Since: at.Add(time.Minute)}
		}, verdict: NotBegun, why: reason.NotBegun, server: "b@-@1"},
		{name: "before a run that goes on", change: func(_ *JobReport, it *ItemReport) {
			it.Runner, it.Run = "a@-@1", RunReport{Instant: at.Add(time.Minute), Begun: at.Add(time.Minute)}
		}, verdict: NotBegun, why: reason.NotBegun, server: "b@-@1"},
		{name: "disabled item", change: func(_ *JobReport, it *ItemReport) { it.Disabled = true }, audit: []AuditRow{
			{Verb: "job disable", Detail: "item=1", At: at}, {Verb: "job disable", Detail: "item=0", At: before},
		}, verdict: NotBegun, why: reason.ItemDisabled, since: before},
		{name: "every server disabled", change: func(j *JobReport, _ *ItemReport) { j.Members[0].Disabled = true }, verdict: NotBegun, why: reason.ServerDisabled},
		{name: "every server drained", change: func(j *JobReport, it *ItemReport) {
			j.Members[0].Disabled, it.Owner = true, ""
			j.Servers = []ServerState{{IP: "b", Disabled: true, Drain: &Drain{By: "ann", Since: before}}}
		}, verdict: NotBegun, why: reason.ServerDrained, since: before},
		{name: "its server drained, another one disabled", change: func(j *JobReport, _ *ItemReport) {
			j.Members[0].Disabled = true
			j.Members = append(j.Members, MemberReport{ID: "a@-@1"})
			j.Servers = []ServerState{{IP: "a", Disabled: true}, {IP: "b", Disabled: true, Drain: &Drain{By: "ann", Since: before}}}
		}, verdict: NotBegun, why: reason.ServerDrained, server: "b@-@1", since: before},
		{name: "its server disabled", change: func(j *JobReport, _ *ItemReport) {
			j.Members[0].Disabled = true
			j.Members = append(j.Members, MemberReport{ID: "a@-@1"})
		}, verdict: NotBegun, why: reason.ServerDisabled, server: "b@-@1"},
		{name: "no server", change: func(j *JobReport, _ *ItemReport) { j.Members = nil }, verdict: NotBegun, why: reason.NoServer},
		{name: "no owner", change: func(_ *JobReport, it *ItemReport) { it.Owner = "" }, verdict: NotBegun, why: reason.ReshardAwaited},
		{name: "a reshard is pending", change: func(j *JobReport, _ *ItemReport) { j.Resharding = true }, verdict: NotBegun, why: reason.ReshardAwaited},
		{name: "nobody leads", change: func(j *JobReport, _ *ItemReport) { j.Faults = []reason.Reason{reason.Of(reason.NobodyLeads)} }, verdict: NotBegun, why: reason.NobodyLeads},
		{name: "blocked", change: func(j *JobReport, _ *ItemReport) { j.Blockers = []reason.Reason{reason.Of(reason.ZoneMissing)} }, verdict: NotBegun, why: reason.ZoneMissing},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := JobReport{Members: []MemberReport{{ID: "b@-@1"}}, Config: &job.Config{Cron: "0 0 * * * ?", TimeZone: "UTC", Shards: 2}}
			it := idle
			if test.change != nil {
				test.change(&j, &it)
			}
			f := facts{now: at.Add(30 * time.Minute), job: &j, items: []ItemReport{it}, rows: map[int][]trace.Row{}, audit: test.audit}
			for _, r := range test.rows {
				f.rows[r.Item] = append(f.rows[r.Item], r)
			}
			e := Explanation{At: test.at}
			f.plan(&e)
			x := f.explain(&e, 0)
			if test.at.IsZero() && !(e.At.Equal(at) && e.Before.Equal(before) && e.After.Equal(at.Add(time.Hour)) && e.Due) {
				t.Errorf("the instant is %s, between %s and %s", e.At, e.Before, e.After)
			}
			if x.Verdict != test.verdict || x.Why.Code != test.why || x.Server != test.server || !x.Since.Equal(test.since) {
				t.Errorf("got %+v, want %s by %q at %q since %s", x, test.verdict, test.why, test.server, test.since)
			}
		})
	}
}

// While the history cannot be read, Explain goes by the registry, and names the history.
func TestExplainGoesOnWithoutTheHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 1}},
			Runner: host.Func(fine), Sinks: []trace.Sink{&pile{}},
		})
		<-h.Ready()
		o := operate(t, reg)
		for name, read := range map[string]func(context.Context) error{
			"away":   func(context.Context) error { return errors.New("away") },
			"frozen": func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("frozen: %w", ctx.Err()) },
		} {
			o.Recall(func(ctx context.Context, _ string, _ *int, _ time.Time) ([]trace.Row, []string, error) {
				return nil, []string{"10.0.0.2"}, read(ctx)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			e, err := o.Explain(ctx, Question{Job: "j"})
			if err != nil || len(e.Items) != 1 || len(e.Unread) != 2 || e.Unread[0] != "10.0.0.2" || !strings.HasPrefix(e.Unread[1], name) {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			cancel()
			if _, err := o.Explain(ctx, Question{Job: "j"}); err == nil {
				t.Errorf("%s: explained after the time was over", name)
			}
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// Without an instant in the question, Explain takes the last one, or the first one if all are
// in the future, or none without a schedule.
func TestExplainOfSchedules(t *testing.T) {
	t.Parallel()
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, test := range []struct {
		cron              string
		at, before, after time.Time
	}{
		{cron: "0 0 0 1 1 ? 2020-2022", at: year(2022), before: year(2021)},
		{cron: "0 0 0 1 1 ? 2120/1", at: year(2120), after: year(2121)},
		{cron: ""},
	} {
		f := facts{now: year(2026), job: &JobReport{Config: &job.Config{Cron: test.cron, TimeZone: "UTC", Shards: 1}}}
		e := Explanation{}
		f.plan(&e)
		if !e.At.Equal(test.at) || !e.Before.Equal(test.before) || !e.After.Equal(test.after) {
			t.Errorf("cron %q: the instant is %s, between %s and %s", test.cron, e.At, e.Before, e.After)
		}
	}
}

// Explain distinguishes an excepted day from a time that the schedule does not have.
func TestExplainADayThatIsExcepted(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 2, 0, 0, 0, time.UTC)
	for minutes, why := range map[int]reason.Code{0: reason.DayExcepted, 5: ""} {
		f := facts{now: at.AddDate(0, 0, 3), job: &JobReport{Config: &job.Config{Cron: "0 0 * * * ?", TimeZone: "UTC", Shards: 1, Except: []string{"01-31"}}}}
		e := &Explanation{At: at.Add(time.Duration(minutes) * time.Minute)}
		f.plan(e)
		if x := f.explain(e, 0); x.Verdict != NotDue || x.Why.Code != why || !e.Before.Equal(at.Add(-3*time.Hour)) || !e.After.Equal(at.Add(22*time.Hour)) {
			t.Errorf("%d minutes past: %+v between %v and %v", minutes, x, e.Before, e.After)
		}
	}
}

// If the configuration cannot be read, Explain says so, and where, instead of what the schedule
// lacks.
func TestExplainAJobThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	put(t, o, registry.Set, "/jobs/orders/config", "{broken")
	item := 0
	for _, q := range []Question{{}, {At: time.Now().Add(-time.Hour)}, {Item: &item}} {
		q.Job = "orders"
		e, err := o.Explain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if e.Unreadable.Code != reason.ConfigUnreadable || !strings.Contains(e.Unreadable.String(), "/jobs/orders/config: ") {
			t.Errorf("%+v: %s", q, e.Unreadable)
		}
		if len(e.Items) == 0 {
			t.Errorf("%+v: no items", q)
		}
		for _, x := range e.Items {
			if x.Verdict != NotBegun || x.Why != e.Unreadable {
				t.Errorf("%+v: %+v", q, x)
			}
		}
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
