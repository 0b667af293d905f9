package operator

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A maintenance silences all jobs and pauses those that it names, until it expires or is ended. Pauses that
// operators set before or during it stay.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		var jobs []job.Config
		for _, name := range []string{"a", "b", "c", "d"} {
			jobs = append(jobs, job.Config{Name: name, Cron: "0 * * * * ?", Shards: 1})
		}
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Jobs: jobs, Runner: host.Func(fine), Sinks: []trace.Sink{rows}})
		<-h.Ready()
		time.Sleep(30 * time.Second)
		o := operate(t, reg)
		o.As(Author{Name: "ann", Way: BySocket})
		states := func(what string, want ...string) {
			t.Helper()
			all, err := o.Jobs(t.Context())
			got := make([]string, len(all))
			for i := range all {
				got[i] = all[i].State
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v %v, want %v", what, err, got, want)
			}
		}
		silent := func() bool {
			_, silences, err := o.Alerts(t.Context())
			return err == nil && len(silences) == 1 && silences[0].Job == ""
		}
		_, none := o.EndMaintenance(t.Context())
		wantCode(t, "none to end", none, host.NotFound)
		_, unknown := o.StartMaintenance(t.Context(), MaintenanceTerms{For: time.Hour, Jobs: []string{"z"}})
		wantCode(t, "an unknown job", unknown, host.NotFound)
		_, short := o.StartMaintenance(t.Context(), MaintenanceTerms{For: time.Second})
		wantCode(t, "no time", short, host.Invalid)

		if err := o.Pause(t.Context(), "a", PauseTerms{}); err != nil {
			t.Fatal(err)
		}
		m, err := o.StartMaintenance(t.Context(), MaintenanceTerms{For: 10 * time.Minute, Why: "a new disk", Jobs: []string{"c", "b", "a"}})
		if err != nil || !slices.Equal(m.Paused, []string{"b", "c"}) || !silent() {
			t.Errorf("%v: %+v", err, m)
		}
		states("at the beginning", "paused", "paused", "paused", "idle")
		_, twice := o.StartMaintenance(t.Context(), MaintenanceTerms{For: time.Hour})
		wantCode(t, "a second one", twice, host.Refused)
		if m, err := o.Maintenance(t.Context()); err != nil || m == nil || m.By != "ann" || m.Why != "a new disk" {
			t.Errorf("%v: it is shown as %+v", err, m)
		}
		if err := o.Pause(t.Context(), "c", PauseTerms{For: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.EndMaintenance(t.Context()); err != nil || silent() {
			t.Errorf("%v: it is not ended", err)
		}
		states("ended", "paused", "idle", "paused", "idle")

		if _, err := o.StartMaintenance(t.Context(), MaintenanceTerms{For: 2 * time.Minute, All: true}); err != nil {
			t.Fatal(err)
		}
		states("all", "paused", "paused", "paused", "paused")
		time.Sleep(2 * time.Minute)
		states("over", "paused", "idle", "paused", "idle")
		if m, err := o.Maintenance(t.Context()); err != nil || m != nil || silent() {
			t.Errorf("%v: after its end there is %+v", err, m)
		}
		time.Sleep(time.Minute)
		if n := rows.count("d", trace.Succeeded); n != 1 {
			t.Errorf("%d runs after it", n)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A pause that would end during a maintenance lasts until its end, and its own end holds again if
// the maintenance ends before it.
func TestMaintenanceExtendsPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		jobs := []job.Config{{Name: "a", Cron: "0 * * * * ?", Shards: 1}, {Name: "b", Cron: "0 * * * * ?", Shards: 1}}
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Jobs: jobs, Runner: host.Func(fine), Sinks: []trace.Sink{rows}})
		<-h.Ready()
		time.Sleep(30 * time.Second)
		o := operate(t, reg)
		o.As(Author{Name: "ann", Way: BySocket})
		pause := func(job string, life time.Duration) {
			t.Helper()
			if err := o.Pause(t.Context(), job, PauseTerms{For: life, Why: "mine"}); err != nil {
				t.Fatal(err)
			}
		}
		begin := func() {
			t.Helper()
			m, err := o.StartMaintenance(t.Context(), MaintenanceTerms{For: 10 * time.Minute, All: true})
			if err != nil || !slices.Equal(m.Paused, []string{"a", "b"}) {
				t.Fatalf("%v: %+v", err, m)
			}
		}
		shown := func(job string, until time.Time) {
			t.Helper()
			r, err := o.Job(t.Context(), job)
			if err != nil || r.Paused == until.IsZero() || !r.Pause.Until.Equal(until) || r.Paused && r.Pause.Why != "mine" {
				t.Errorf("%v: %s is %s %+v", err, job, r.State, r.Pause)
			}
		}
		pause("a", 5*time.Second)
		began := time.Now()
		pause("b", 8*time.Minute)
		begin()
		time.Sleep(4 * time.Minute)
		if n := rows.count("a", trace.Succeeded); n != 0 {
			t.Errorf("%d runs in a maintenance", n)
		}
		shown("a", began.Add(10*time.Minute))
		m, err := o.EndMaintenance(t.Context())
		if err != nil || !slices.Equal(m.Resumed, []string{"a"}) || !slices.Equal(m.Paused, []string{"b"}) || !m.Until.Equal(time.Now()) {
			t.Errorf("%v: ended with %+v", err, m)
		}
		shown("a", time.Time{})
		shown("b", began.Add(8*time.Minute))

		pause("a", 5*time.Second)
		pause("b", 8*time.Minute)
		begin()
		time.Sleep(10*time.Minute + time.Second)
		shown("a", time.Time{})
		shown("b", time.Time{})
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// The silence of a maintenance covers every job.
func TestMaintenanceSilencesAll(t *testing.T) {
	t.Parallel()
	var all clustertree.Alerts
	all.Silence(clustertree.Silence{Until: 2}, 1)
	if !all.Silenced("j", 1) || all.Silenced("j", 2) {
		t.Error("it is not silent until its end")
	}
}

// A job that no server of ours has run cannot be paused. The others are paused nevertheless.
func TestMaintenanceOfAllJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		jobs := []job.Config{{Name: "zz", Cron: "0 * * * * ?", Shards: 1}}
		o := operate(t, reg)
		javatest.Write(t, o.session, javatest.Config(nil))
		h, stop := start(t, host.Options{Registry: reg, Namespace: "jobs", Jobs: jobs, Runner: host.Func(fine)})
		<-h.Ready()
		m, err := o.StartMaintenance(t.Context(), MaintenanceTerms{For: time.Hour, All: true})
		if err != nil || !slices.Equal(m.Paused, []string{"zz"}) || !slices.Equal(m.NotPaused, []string{javatest.Name}) {
			t.Errorf("%v: %+v", err, m)
		}
		if m, err = o.EndMaintenance(t.Context()); err != nil || !slices.Equal(m.Resumed, []string{"zz"}) || len(m.Paused) != 0 {
			t.Errorf("%v: %+v", err, m)
		}
		if r, err := o.Job(t.Context(), "zz"); err != nil || r.Paused {
			t.Errorf("%v: %+v", err, r)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
