package operator

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
)

// A job is made once, with its row of the audit, and a dry run makes none.
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
		wantCode(t, what, o.CreateJob(t.Context(), text, as(change)), host.Invalid)
	}
	dry.DryRun()
	if err := dry.CreateJob(t.Context(), text, as(same)); err != nil || len(dry.Deeds()) != 1 {
		t.Errorf("%+v, %v", dry.Deeds(), err)
	}
	if err := o.CreateJob(t.Context(), text, as(same)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "again", o.CreateJob(t.Context(), text, as(same)), host.Refused)
	r, err := o.Job(t.Context(), "report")
	if err != nil || r.Config == nil || r.Config.Shards != 2 || r.Modules.Now == nil || r.Modules.Now.Digest != digest {
		t.Errorf("%+v, %v", r, err)
	}
	rows, err := o.Audit(t.Context(), AuditFilter{})
	if err != nil || len(rows) != 1 || rows[0].Verb != "job create" || rows[0].Job != "report" || rows[0].Detail != "module="+digest {
		t.Errorf("%+v, %v", rows, err)
	}
}
