package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A file is applied once. A later change in the registry stays, unless the file overwrites it.
func TestApplyJob(t *testing.T) {
	t.Parallel()
	reg := memory(t)
	o := operate(t, reg)
	text := JobText{Name: "report", Digest: strings.Repeat("0a", 32)}
	c := job.Config{
		Name: "report", Kind: job.Simple, Shards: 2, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss,
	}
	apply := func(action string, want ...PlannedKey) {
		t.Helper()
		got, err := o.ApplyJob(t.Context(), text, func(JobText) (job.Config, error) { return c, nil })
		if diff := cmp.Diff(Planned{Job: "report", Action: action, Keys: append([]PlannedKey{}, want...), Overwrite: c.Overwrite}, got); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	}
	now := func() *JobReport {
		t.Helper()
		r, err := o.Job(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	dry := operate(t, reg)
	dry.DryRun()
	if p, err := dry.ApplyJob(t.Context(), text, func(JobText) (job.Config, error) { return c, nil }); err != nil || p.Action != PlanNew || len(dry.Deeds()) != 1 {
		t.Errorf("%+v, %v, %+v", p, err, dry.Deeds())
	}
	apply(PlanNew)
	apply(PlanSame)
	c.Shards, c.ModuleDigest = 3, strings.Repeat("0b", 32)
	apply(PlanChanges, PlannedKey{"shardingTotalCount", "2", "3", FateTaken})
	if r := now(); r.Config.Shards != 3 || r.Modules.Now.Digest != text.Digest || r.Modules.Next != nil {
		t.Errorf("%+v, %+v", r.Config, r.Modules)
	}
	apply(PlanSame)

	byHand := c
	byHand.Shards = 5
	l := layout.NewJob("jobs", "report")
	changed, err := definition.Merge(l.Define(byHand), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Spell(protocol.Definition{}, changed.Definition)
	if err != nil {
		t.Fatal(err)
	}
	at, _, _ := l.Nodes()
	put(t, o, registry.Set, at, d.Config.String())
	apply(PlanSame, PlannedKey{"shardingTotalCount", "5", "3", FateDrift})
	c.Timeout = time.Minute
	apply(PlanChanges, PlannedKey{"shardingTotalCount", "5", "3", FateDrift}, PlannedKey{"timeout", "", `"1m0s"`, FateTaken})
	if r := now(); r.Config.Shards != 5 || r.Config.Timeout != time.Minute {
		t.Errorf("%+v", r.Config)
	}
	c.Overwrite = true
	got, err := o.ApplyJob(t.Context(), text, func(JobText) (job.Config, error) { return c, nil })
	if r := now(); err != nil || got.Action != PlanChanges || r.Config.Shards != 3 {
		t.Errorf("%+v, %v, %+v", got, err, r.Config)
	}

	rows, err := o.Audit(t.Context(), AuditFilter{Job: "report"})
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for _, r := range rows {
		verbs = append(verbs, r.Verb+r.Before+r.After)
	}
	if all := strings.Join(verbs, ";"); !strings.Contains(all, "apply shardingTotalCount=2 shardingTotalCount=3") || !strings.Contains(all, "job create") {
		t.Error(all)
	}
}

// A job that cannot be applied changes nothing, and the error says why.
func TestApplyJobRefuses(t *testing.T) {
	t.Parallel()
	o := operate(t, memory(t))
	text := JobText{Name: "report", Digest: strings.Repeat("0a", 32)}
	_, err := o.ApplyJob(t.Context(), text, func(JobText) (job.Config, error) {
		return job.Config{Name: "report", Kind: job.Simple, Shards: 1, Module: "m", Layout: job.Layout21, MaxClockSkew: -1, Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss}, nil
	})
	wantCode(t, "a new job without its module", err, host.Invalid)
	_, err = o.ApplyJob(t.Context(), text, func(JobText) (job.Config, error) {
		return job.Config{}, &host.Error{Code: host.Invalid, Msg: "no text"}
	})
	wantCode(t, "no job", err, host.Invalid)
	o.OnlyIf(func(*JobReport) error { return nil })
	_, err = o.ApplyJob(t.Context(), text, func(text JobText) (job.Config, error) {
		return job.Config{Name: "report", Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1, Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss}, nil
	})
	wantCode(t, "a change of a job that is not there", err, host.NotFound)
}
