package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// operate opens an Operator on the registry of a test.
func operate(t *testing.T, r registry.Registry) *Operator {
	t.Helper()
	o, err := Open(t.Context(), r, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// put writes a node directly.
func put(t *testing.T, o *Operator, kind registry.OpKind, path, data string) {
	t.Helper()
	javatest.Put(t, o.session, kind, path, data)
}

func wantCode(t *testing.T, what string, err error, code host.Code) {
	t.Helper()
	var e *host.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: error %v, want code %s", what, err, code)
	}
}

// Members act on the requests of an operator that is no member.
func TestOperatorFromOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 2}},
			Runner: host.Func(fine), Sinks: []trace.Sink{rows},
		})
		<-h.Ready()
		o := operate(t, reg)
		ctx := t.Context()
		steps := []struct {
			what  string
			do    func() error
			runs  int    // in the minute after the request
			state string // after that minute
		}{
			{"trigger", func() error { return o.Trigger(ctx, "j") }, 4, "idle"},
			{"pause", func() error { return o.Pause(ctx, "j", PauseTerms{}) }, 0, "paused"},
			{"pause again", func() error { return o.Pause(ctx, "j", PauseTerms{}) }, 0, "paused"},
			{"resume", func() error { return o.Resume(ctx, "j") }, 2, "idle"},
			{"disable an item", func() error { return o.SetItem(ctx, "j", 1, true) }, 1, "idle"},
			{"enable it", func() error { return o.SetItem(ctx, "j", 1, false) }, 2, "idle"},
			{"disable the server", func() error { return o.SetServer(ctx, "j", "10.0.0.1", true) }, 0, "disabled"},
			{"enable it", func() error { return o.SetServer(ctx, "j", "10.0.0.1", false) }, 2, "idle"},
			{"disable the job", func() error { return o.SetJob(ctx, "j", true) }, 0, "disabled"},
			{"enable it", func() error { return o.SetJob(ctx, "j", false) }, 2, "idle"},
			{"reshard", func() error { return o.Reshard(ctx, "j") }, 2, "idle"},
			{"shut down nobody", func() error {
				gone, err := o.Shutdown(ctx, "j", Which{Instance: "10.0.0.9@-@a"})
				return errors.Join(err, equal(len(gone), 0))
			}, 2, "idle"},
			{"shut down", func() error {
				gone, err := o.Shutdown(ctx, "j", Which{IP: "10.0.0.1"})
				return errors.Join(err, equal(len(gone), 1))
			}, 0, "down"},
		}
		time.Sleep(30 * time.Second)
		for _, s := range steps {
			before := rows.count("j", trace.Succeeded)
			if err := s.do(); err != nil {
				t.Errorf("%s: %v", s.what, err)
			}
			time.Sleep(time.Minute)
			if got := rows.count("j", trace.Succeeded) - before; got != s.runs {
				t.Errorf("%s: %d runs, want %d", s.what, got, s.runs)
			}
			r, err := o.Job(ctx, "j")
			if err != nil {
				t.Fatal(err)
			}
			if r.State != s.state {
				t.Errorf("%s: the job is %s, want %s", s.what, r.State, s.state)
			}
		}
		wantCode(t, "no such job", o.Trigger(ctx, "nobody"), host.NotFound)
		wantCode(t, "no such item", o.SetItem(ctx, "j", 9, true), host.Refused)
		wantCode(t, "no item at all", o.SetItem(ctx, "j", -1, true), host.Refused)
		wantCode(t, "no such server", o.SetServer(ctx, "j", "10.9.9.9", true), host.NotFound)
		wantCode(t, "nobody to trigger", o.Trigger(ctx, "j"), host.Refused)
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

func equal(got, want int) error {
	if got != want {
		return errors.New("not as many as were wanted")
	}
	return nil
}

// A report shows each item of a running job.
func TestJobReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		slow := host.Func(func(ctx context.Context, c job.Call) job.Outcome {
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			return job.Outcome{Verdict: job.Stopped}
		})
		options := host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Runner: slow, NoDrain: true, Labels: map[string]string{"zone": "a"},
			Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 4}, {Name: "other", Shards: 1}},
		}
		a, stopA := start(t, options)
		<-a.Ready()
		options.Instance, options.Labels = "10.0.0.2@-@b", nil
		b, stopB := start(t, options)
		<-b.Ready()
		time.Sleep(2 * time.Second)
		o := operate(t, reg)
		ctx := t.Context()
		if err := o.SetItem(ctx, "j", 3, true); err != nil {
			t.Fatal(err)
		}
		begun := time.Now().Truncate(time.Minute).Add(time.Minute)
		time.Sleep(time.Until(begun) + time.Second)

		r, err := o.Job(ctx, "j")
		if err != nil {
			t.Fatal(err)
		}
		run := RunReport{Instant: begun, Begun: begun, Cause: "schedule", Attempt: 1}
		want := &JobReport{
			Name: "j", State: "running", Leader: "10.0.0.1@-@a", Running: 3,
			Servers: []ServerState{{IP: "10.0.0.1"}, {IP: "10.0.0.2"}},
			Members: []MemberReport{
				{ID: "10.0.0.2@-@b", Items: 2, Running: 2},
				{ID: "10.0.0.1@-@a", Labels: map[string]string{"zone": "a"}, Items: 2, Running: 1},
			},
			Items: []ItemReport{
				{Item: 0, State: "running", Owner: "10.0.0.2@-@b", Runner: "10.0.0.2@-@b", Run: run, Last: begun},
				{Item: 1, State: "running", Owner: "10.0.0.2@-@b", Runner: "10.0.0.2@-@b", Run: run, Last: begun},
				{Item: 2, State: "running", Owner: "10.0.0.1@-@a", Runner: "10.0.0.1@-@a", Run: run, Last: begun},
				{Item: 3, State: "disabled", Owner: "10.0.0.1@-@a", Disabled: true},
			},
		}
		for i := range r.Items { // times before the first minute are not tested here
			if r.Items[i].Runner == "" {
				r.Items[i].Last = time.Time{}
			}
			r.Items[i].LastBegin = time.Time{} // as Run has it
		}
		if d := cmp.Diff(want, r, cmpopts.IgnoreFields(JobReport{}, "Config", "Edition"), cmpopts.IgnoreFields(ItemReport{}, "Accounted"), cmpopts.EquateApproxTime(time.Second)); d != "" {
			t.Error(d)
		}
		if r.Config == nil || r.Config.Cron != "0 * * * * ?" || r.Config.Shards != 4 || r.State != "running" {
			t.Errorf("config %+v, state %s", r.Config, r.State)
		}

		all, err := o.Jobs(ctx)
		if err != nil || len(all) != 2 || all[0].Name != "j" || all[0].State != "running" || all[0].Running != 3 || all[1].Name != "other" || all[1].State != "idle" {
			t.Errorf("jobs: %+v, %v", all, err)
		}
		servers := []ServerReport{
			{IP: "10.0.0.1", Members: 2, Leads: 2, Items: 2, Running: 1},
			{IP: "10.0.0.2", Members: 2, Items: 3, Running: 2},
		}
		if d := cmp.Diff(servers, ServersOf(all)); d != "" {
			t.Errorf("servers: %s", d)
		}
		if err := errors.Join(o.Close(), stopA(), stopB(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

func ghostly(faults []reason.Reason) bool {
	return slices.ContainsFunc(faults, func(r reason.Reason) bool { return strings.Contains(r.String(), "no session holds it") })
}

// A report names damage in the registry, and verbs do not touch it.
func TestOperatorAndDamage(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := operate(t, reg)
	ctx := t.Context()
	_, err := o.Jobs(ctx)
	wantCode(t, "no namespace", err, host.NotFound)
	_, err = o.Job(ctx, "j")
	wantCode(t, "no namespace", err, host.NotFound)

	bad, good := layout.NewJob("jobs", "bad"), layout.NewJob("jobs", "good")
	text, err := v21.EncodeConfig(v21.FromJob(job.Config{Name: "good", Kind: job.Simple, Shards: 1, Strategy: "average"}))
	if err != nil {
		t.Fatal(err)
	}
	put(t, o, registry.Create, "/jobs", "")
	put(t, o, registry.Create, "/jobs/noise", "")
	for _, n := range []struct{ path, data string }{
		{bad.At(bad.Outline()[0]), ""},
		{bad.At(bad.Outline()[1]), "shardingTotalCount: 3"},
		{good.At(good.Outline()[0]), ""},
		{good.At(good.Outline()[1]), string(text)},
		{good.At(good.Outline()[2]), ""},
		{good.At(good.Outline()[2]) + "/10.0.0.1", ""},
		{good.At(good.Outline()[3]), ""},
		{good.Instance("10.0.0.1@-@1"), ""},
	} {
		put(t, o, registry.Create, n.path, n.data)
	}
	all, err := o.Jobs(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("jobs: %+v, %v", all, err)
	}
	if r := all[0]; r.Name != "bad" || r.State != "unreadable" || !slices.ContainsFunc(r.Faults, func(r reason.Reason) bool { return strings.Contains(r.String(), "config: ") }) {
		t.Errorf("unreadable: %+v", r)
	}
	if r := all[1]; r.State != "down" || !ghostly(r.Faults) {
		t.Errorf("a ghost: %+v", r)
	}
	wantCode(t, "unreadable", o.Trigger(ctx, "bad"), host.Refused)
	// A job with only foreign members has no pauses; the other verbs work.
	wantCode(t, "pause of others", o.Pause(ctx, "good", PauseTerms{}), host.Refused)
	if err := o.SetServer(ctx, "good", "10.0.0.1", true); err != nil {
		t.Error(err)
	}
	gone, err := o.Shutdown(ctx, "good", Which{All: true})
	if err != nil || len(gone) != 1 {
		t.Errorf("ghosts cleared away: %v, %v", gone, err)
	}
	r, err := o.Job(ctx, "good")
	if err != nil || len(r.Servers) != 1 || !r.Servers[0].Disabled || ghostly(r.Faults) {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
	_, err = o.Jobs(ctx)
	wantCode(t, "after the end", err, host.Unavailable)
	_, err = Open(ctx, reg, "jobs")
	wantCode(t, "a registry that is closed", err, host.Unavailable)
}

// A report lists settings that no server can use, even while no server runs.
func TestOperatorAndWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*v21.Config)
		want  string
	}{
		"nothing":            {func(*v21.Config) {}, ""},
		"never":              {func(c *v21.Config) { c.Cron = v21.ManualCron }, ""},
		"cron":               {func(c *v21.Config) { c.Cron = "0 61 * * * ?" }, "it never fires: cron: "},
		"strategy":           {func(c *v21.Config) { c.JobShardingStrategyClass = "com.example.Mine" }, `its strategy "com.example.Mine" is not known here`},
		"another job":        {func(c *v21.Config) { c.JobName = "k" }, `expected the job "j", it is that of "k"`},
		"parameters of none": {func(c *v21.Config) { c.ShardingItemParameters = "0" }, "shardingItemParameters: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := embedded.Memory()
			other := newTool(t, reg)
			other.define(job.Config{Name: "j", Kind: job.Simple, Cron: "* * * * * ?", Shards: 1, MaxClockSkew: -1})
			other.change("j", c.spoil)
			o, err := Open(t.Context(), reg, "n")
			if err != nil {
				t.Fatal(err)
			}
			r, err := o.Job(t.Context(), "j")
			if err != nil {
				t.Fatal(err)
			}
			faults := slices.DeleteFunc(r.Faults, func(r reason.Reason) bool { return r.Code == reason.NoServer })
			if text := reason.Words(faults, "\n"); !strings.Contains(text, c.want) || (text == "") != (c.want == "") {
				t.Errorf("faults %q, want %q", faults, c.want)
			}
			other.close()
			if err := errors.Join(o.Close(), reg.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A report says that the job's configuration was deleted, and the job continues once it is back.
func TestConfigurationThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		h, stop := start(t, host.Options{Registry: reg, Namespace: "n", Runner: host.Func(fine), Jobs: []job.Config{{Name: "j", Cron: "* * * * * ?", Shards: 1}}})
		<-h.Ready()
		other := newTool(t, reg)
		at, _, _ := layout.NewJob("n", "j").Nodes()
		text := string(other.read(at).Data)
		other.remove(at)
		time.Sleep(5 * time.Second)
		o, err := Open(t.Context(), reg, "n")
		if err != nil {
			t.Fatal(err)
		}
		r, err := o.Job(t.Context(), "j")
		if err != nil || r.State != "unreadable" || !slices.Contains(r.Faults, reason.Of(reason.ConfigGone)) {
			t.Errorf("%+v, %v", r, err)
		}
		if all, err := o.Jobs(t.Context()); err != nil || len(all) != 1 || !slices.Contains(all[0].Faults, reason.Of(reason.ConfigGone)) {
			t.Errorf("jobs %+v, %v", all, err)
		}
		wantCode(t, "trigger", o.Trigger(t.Context(), "j"), host.Refused)
		if got := h.Jobs()[0].Troubles; !slices.Contains(got, reason.Of(reason.ConfigGone)) {
			t.Errorf("troubles %q", got)
		}
		other.set(at, text)
		time.Sleep(5 * time.Second)
		if r, err := o.Job(t.Context(), "j"); err != nil || len(r.Faults) != 0 || r.Items[0].Last.Before(time.Now().Add(-2*time.Second)) {
			t.Errorf("afterwards: %+v, %v", r, err)
		}
		other.close()
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
