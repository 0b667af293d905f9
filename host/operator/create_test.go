package operator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A job is created once, with its audit row, and a dry run creates none.
func TestCreateJob(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o, dry := operate(t, reg), operate(t, reg)
	digest := strings.Repeat("0a", 32)
	as := func(change func(*job.Config)) func(JobText) (job.Config, error) {
		return func(text JobText) (job.Config, error) {
			c := job.Config{
				Name: text.Name, Kind: job.Simple, Shards: 2, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1,
				Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss,
			}
			change(&c)
			return c, nil
		}
	}
	same := func(*job.Config) {}
	text := JobText{Name: "report", Digest: digest}
	for what, change := range map[string]func(*job.Config){
		"no digest":               func(c *job.Config) { c.ModuleDigest = "" },
		"a command":               func(c *job.Config) { c.Command = "rm" },
		"a strategy":              func(c *job.Config) { c.StrategyModule = "s" },
		"no items":                func(c *job.Config) { c.Shards = -1 },
		"no good name":            func(c *job.Config) { c.Name = "../x" },
		"a name of the cluster's": func(c *job.Config) { c.Name = "x.wasmjobd" },
		"a new layout":            func(c *job.Config) { c.Layout = "9" },
		"no digest yet":           func(c *job.Config) { c.ModuleDigest = "0a" },
	} {
		_, err := o.CreateJob(t.Context(), text, as(change))
		wantCode(t, what, err, host.Invalid)
	}
	dry.DryRun()
	unheld := func(_ context.Context, of string) string { return "nobody has " + of }
	dry.WarnOf(unheld)
	if warning, err := dry.CreateJob(t.Context(), text, as(same)); err != nil || len(dry.Deeds()) != 1 || warning != "nobody has "+digest || dry.Deeds()[0].Warning != warning {
		t.Errorf("%+v, %v", dry.Deeds(), err)
	}
	if warning, err := o.CreateJob(t.Context(), text, as(same)); err != nil || warning != "" {
		t.Fatal(warning, err)
	}
	o.WarnOf(unheld)
	_, err := o.CreateJob(t.Context(), text, as(same))
	wantCode(t, "again", err, host.Refused)
	if p, err := o.ApplyJob(t.Context(), JobText{Name: "applied", Digest: digest}, as(same)); err != nil || p.Warning != "nobody has "+digest {
		t.Errorf("%+v, %v", p, err)
	}
	r, err := o.Job(t.Context(), "report")
	if err != nil || r.Config == nil || r.Config.Shards != 2 || r.Modules.Now == nil || r.Modules.Now.Digest != digest {
		t.Errorf("%+v, %v", r, err)
	}
	rows, err := o.Audit(t.Context(), AuditFilter{Job: "report"})
	if err != nil || len(rows) != 1 || rows[0].Verb != "job create" || rows[0].Job != "report" || rows[0].Detail != "module="+digest {
		t.Errorf("%+v, %v", rows, err)
	}
}

// No request makes a job run after itself through other jobs. If two concurrent requests do so
// together, reports and doctor show it.
func TestCircleOfJobs(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o, other := operate(t, reg), operate(t, reg)
	read := func(after ...string) func(JobText) (job.Config, error) {
		return func(text JobText) (job.Config, error) {
			return job.Config{
				Name: text.Name, Kind: job.Simple, Shards: 2, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1,
				Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, After: after, Overwrite: true,
			}, nil
		}
	}
	text := func(name string) JobText { return JobText{Name: name, Digest: strings.Repeat("0a", 32)} }
	create := func(by *Operator, name string, after ...string) {
		t.Helper()
		if _, err := by.CreateJob(t.Context(), text(name), read(after...)); err != nil {
			t.Fatal(err)
		}
	}
	create(o, "a", "b", "x")
	create(o, "b", "c")
	warning, err := o.CreateJob(t.Context(), text("late"), read("a", "x"))
	if err != nil || warning != `this job runs after the job "x", which is not in the registry; nothing begins until it is there` {
		t.Errorf("%q, %v", warning, err)
	}
	_, err = o.CreateJob(t.Context(), text("c"), read("x", "a"))
	wantCode(t, "the last of a circle", err, host.Refused)
	if err != nil && !strings.Contains(err.Error(), "c after a after b after c") {
		t.Error(err)
	}
	create(o, "c", "x")
	_, err = o.ApplyJob(t.Context(), text("c"), read("a"))
	wantCode(t, "a circle by a change", err, host.Refused)
	o.session = &overtaken{o.session, func() { create(other, "e", "d") }}
	create(o, "d", "e")
	for _, name := range []string{"d", "e"} {
		r, err := other.Job(t.Context(), name)
		if err != nil || !slices.ContainsFunc(r.Faults, func(why reason.Reason) bool { return why.Code == reason.AfterCircle }) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	found, err := other.Checkups(t.Context(), host.Options{}, "a", "d")
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for _, c := range found {
		if slices.ContainsFunc(c.Breaks, func(why reason.Reason) bool { return why.Code == reason.AfterCircle }) != (c.Job == "d") {
			t.Errorf("%+v", c)
		}
	}
}

// readless is a session whose reads fail once it has created a job.
type readless struct {
	registry.Session
	made bool
}

// Commit implements registry.Session.
func (s *readless) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	s.made = s.made || slices.ContainsFunc(ops, func(op registry.Op) bool { return strings.HasSuffix(op.Path, "/config") })
	return s.Session.Commit(ctx, ops...)
}

// Read implements registry.Session.
func (s *readless) Read(ctx context.Context, path string) (registry.Node, error) {
	if s.made {
		return registry.Node{}, registry.ErrUnknown
	}
	return s.Session.Read(ctx, path)
}

// A created job is a success even if the jobs after which it runs cannot be read then.
func TestMadeThoughNothingMoreIsRead(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o, other := operate(t, reg), operate(t, reg)
	o.session = &readless{Session: o.session}
	warning, err := o.CreateJob(t.Context(), JobText{Name: "late", Digest: strings.Repeat("0a", 32)}, func(text JobText) (job.Config, error) {
		return job.Config{
			Name: text.Name, Kind: job.Simple, Shards: 2, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1,
			Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, After: []string{"x"}, Overwrite: true,
		}, nil
	})
	if err != nil || !strings.Contains(warning, "cannot tell") {
		t.Errorf("%q, %v", warning, err)
	}
	if _, err := other.Job(t.Context(), "late"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(o.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}
