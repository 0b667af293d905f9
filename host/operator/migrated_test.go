package operator

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Until a job is moved, a server of ours with the job in its file reports which layout the job has. Then it runs the
// job from where the foreign members had left it: runs that they had begun do not begin again, and missed instants have
// a row.
func TestMigratedJobGoesOn(t *testing.T) {
	t.Parallel()
	for from, file := range map[string]string{"1": "ej1/pause.json", "2.0": "ej20/pause.json"} {
		for _, to := range []string{job.Layout21, job.Layout3} {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				nodes := recorded.AtRest(t, recorded.Earlier(t, file), "at the end")
				synctest.Test(t, func(t *testing.T) {
					goesOn(t, from, to, nodes, func(d time.Duration) { time.Sleep(d) })
				})
			})
		}
	}
}

// troubled reports whether a trouble of the job contains these words.
func troubled(s job.Status, words string) bool {
	return slices.ContainsFunc(s.Troubles, func(r reason.Reason) bool { return strings.Contains(r.String(), words) })
}

func goesOn(t *testing.T, from, to string, nodes map[string]string, wait func(time.Duration)) {
	t.Helper()
	reg, rows := embedded.Memory(), &pile{}
	o := operate(t, reg)
	begin := time.Now().Truncate(time.Minute)
	wait(10 * time.Minute)
	last := []time.Time{begin.Add(10*time.Minute - 59*time.Second), begin.Add(9 * time.Minute), begin.Add(9 * time.Minute), begin.Add(5 * time.Minute)}
	for at, data := range nodes {
		nodes[at] = strings.ReplaceAll(data, "0/10 * * * * ?", "0 * * * * ?")
		if name := path.Base(at); name == "lastBeginTime" || name == "lastCompleteTime" {
			item, _ := strconv.Atoi(path.Base(path.Dir(at)))
			nodes[at] = strconv.FormatInt(last[item].UnixMilli(), 10)
		}
	}
	putTree(t, o, "/jobs/job", nodes)
	h, stop := start(t, host.Options{
		Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Runner: host.Func(fine), Sinks: []trace.Sink{rows},
		Jobs: []job.Config{{Name: "job", Class: "recorder.Work", Cron: "0 * * * * ?", Shards: 4, Layout: to, TimeZone: "UTC", MaxClockSkew: -1, Misfire: true, MonitorExecution: true}},
	})
	wait(2*time.Minute + 30*time.Second) // 12:30
	refused := h.Jobs()[0]
	if refused.Instance != "" || !troubled(refused, "this is a job of layout 1 or 2.0") {
		t.Errorf("before, it says %+v", refused)
	}
	if ran := rows.written(); len(ran) > 0 {
		t.Errorf("before, it ran %+v", ran)
	}
	dry, err := o.Migrate(t.Context(), "job", Move{To: to, DryRun: true})
	if err != nil || dry.From != from || len(dry.Writes) < 10 || !dry.DryRun {
		t.Fatalf("%+v, %v", dry, err)
	}
	if r, err := o.Job(t.Context(), "job"); err != nil || len(r.Members) > 0 {
		t.Errorf("after a dry run: %+v, %v", r, err)
	}
	r, err := o.Migrate(t.Context(), "job", Move{To: to})
	if err != nil || !slices.Equal(r.Writes, dry.Writes) {
		t.Fatalf("%+v, %v", r, err)
	}
	wait(20 * time.Second) // 12:50
	if n := rows.count("job", trace.Succeeded); n != 0 {
		t.Errorf("%d runs before the next instant", n)
	}
	wait(time.Minute) // 13:50
	if is := h.Jobs()[0]; is.Instance == "" {
		t.Fatalf("it has not joined: %+v", is)
	}
	next := begin.Add(13 * time.Minute).UnixMilli()
	missed := map[int]string{}
	for _, row := range rows.written() {
		if row.State == trace.Missed {
			missed[row.Item] = fmt.Sprintf("%d from %d to %d", row.Count, (row.Instant-begin.UnixMilli())/60e3, (row.Last-begin.UnixMilli())/60e3)
		} else if row.Instant != next || row.State != trace.Succeeded {
			t.Errorf("%+v", row)
		}
	}
	want := map[int]string{0: "3 from 10 to 12", 1: "3 from 10 to 12", 2: "3 from 10 to 12", 3: "7 from 6 to 12"}
	if d := cmp.Diff(want, missed); d != "" || rows.count("job", trace.Succeeded) != 4 {
		t.Errorf("%d ran, and missed: %s", rows.count("job", trace.Succeeded), d)
	}
	report, err := o.Job(t.Context(), "job")
	if err != nil || report.Paused || !slices.ContainsFunc(report.Servers, func(s ServerState) bool { return s.IP == "10.0.0.2" && s.Disabled }) {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := o.Migrate(t.Context(), "job", Move{Back: true}); err == nil || !strings.Contains(err.Error(), "a member has joined it since the migration, so it stays") {
		t.Errorf("back: %v", err)
	}
	if r, err := o.Migrate(t.Context(), "job", Move{To: to}); err != nil || len(r.Writes) == 0 || r.Done != "" {
		t.Errorf("the rest: %+v, %v", r, err)
	}
	if r, err := o.Migrate(t.Context(), "job", Move{To: to}); err != nil || r.Done != "it is of layout "+to+" already" {
		t.Errorf("once more: %+v, %v", r, err)
	}
	if err := errors.Join(stop(), o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// A job of ours keeps its newest instants, its pause and its disabled items and servers; a server whose file has the
// former layout says so.
func TestJobOfOursMigrates(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{job.Layout21, job.Layout3}, {job.Layout20, job.Layout21}, {job.Layout1, job.Layout21}, {job.Layout1, job.Layout3}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			oursMigrates(t, way[0], way[1])
		})
	}
}

func oursMigrates(t *testing.T, from, to string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		serve := func(id job.InstanceID, in string) (*host.Host, func() error) {
			return start(t, host.Options{
				Registry: reg, Namespace: "jobs", Instance: id, Runner: host.Func(fine), Sinks: []trace.Sink{rows},
				Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 3, Layout: in, MonitorExecution: true, MaxClockSkew: -1}},
			})
		}
		o := operate(t, reg)
		h, stop := serve("10.0.0.1@-@a", from)
		<-h.Ready()
		time.Sleep(2*time.Minute + 10*time.Second)
		if err := errors.Join(o.SetItem(t.Context(), "j", 1, true), o.Pause(t.Context(), "j", PauseTerms{Why: "it moves"})); err != nil {
			t.Fatal(err)
		}
		_, err := o.Migrate(t.Context(), "j", Move{To: to})
		wantCode(t, "with a member", err, host.Refused)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, m := range []Move{{To: to}, {Back: true}, {To: to}} {
			if _, err := o.Migrate(t.Context(), "j", m); err != nil {
				t.Fatal(err)
			}
		}
		before, stopBefore := serve("10.0.0.2@-@a", from)
		h, stop = serve("10.0.0.1@-@b", to)
		<-h.Ready()
		time.Sleep(2 * time.Minute)
		if is := before.Jobs()[0]; is.Instance != "" || len(is.Troubles) == 0 {
			t.Errorf("a server of the former layout: %+v", is)
		}
		if r, err := o.Job(t.Context(), "j"); err != nil || !r.Paused || r.Pause.Why != "it moves" || !r.Items[1].Disabled {
			t.Errorf("%+v, %v", r, err)
		}
		if n := rows.count("j", trace.Succeeded); n != 6 {
			t.Errorf("%d runs before the end of the pause", n)
		}
		if err := o.Resume(t.Context(), "j"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		runs := map[string]int{}
		for _, r := range rows.written() {
			if r.State == trace.Succeeded {
				runs[fmt.Sprint(r.Item, " ", time.UnixMilli(r.Instant).UTC().Format(time.TimeOnly))]++
			}
		}
		want := map[string]int{"0 00:01:00": 1, "1 00:01:00": 1, "2 00:01:00": 1, "0 00:02:00": 1, "1 00:02:00": 1, "2 00:02:00": 1, "0 00:05:00": 1, "2 00:05:00": 1}
		if d := cmp.Diff(want, runs); d != "" {
			t.Error(d)
		}
		if err := errors.Join(stop(), stopBefore(), o.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
