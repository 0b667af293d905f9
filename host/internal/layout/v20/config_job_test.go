package v20

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
)

// A job that is written and applied to its own file is unchanged.
func TestConfigOfJobAppliesToIt(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*job.Config){
		"simple":    func(*job.Config) {},
		"triggered": func(j *job.Config) { j.Cron = "" },
		"dataflow":  func(j *job.Config) { j.Kind, j.Streaming = job.Dataflow, true },
		"script":    func(j *job.Config) { j.Kind, j.Command = job.Script, "echo a=b" },
		"all": func(j *job.Config) {
			j.Class, j.ItemParams, j.Param, j.Description, j.Failover, j.Misfire, j.MonitorExecution = "a.B", "0=a", "p", "ü", true, false, false
			j.MonitorPort, j.MaxClockSkew, j.Strategy, j.Disabled, j.Overwrite, j.ReconcileEvery = 9888, 0, "odevity", true, true, time.Minute
		},
	} {
		j := job.Config{Name: "j", Kind: job.Simple, Cron: "0 * * * * ?", Shards: 2, Misfire: true, MonitorExecution: true, MaxClockSkew: -1}
		change(&j)
		text, err := EncodeConfig(FromJob(j))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := DecodeConfig(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(j, c.Apply(j)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The registry's values have precedence; what runs on the servers has not.
func TestConfigAppliesToAnotherFile(t *testing.T) {
	t.Parallel()
	c := Default()
	c.JobType, c.StreamingProcess, c.Cron, c.ShardingTotalCount, c.MaxTimeDiffSeconds = Dataflow, true, ManualCron, 5, 30
	c.ScriptCommandLine, c.JobShardingStrategyClass, c.MonitorExecution = "rm -rf /", classes("rotate"), false
	flow := job.Config{Kind: job.Dataflow, Cron: "c", MonitorPort: 7, Strategy: "odevity", Command: "echo", ReconcileEvery: time.Hour, Misfire: true}
	want := job.Config{
		Kind: job.Dataflow, Streaming: true, Shards: 5, MaxClockSkew: 30 * time.Second, Strategy: c.JobShardingStrategyClass, Command: "echo",
		ReconcileEvery: time.Hour, Misfire: true,
	}
	if diff := cmp.Diff(want, c.Apply(flow)); diff != "" {
		t.Error(diff)
	}
	if got := c.Apply(job.Config{Kind: job.Simple, Strategy: "ROUND_ROBIN"}); got.Streaming || got.Strategy != "ROUND_ROBIN" {
		t.Errorf("got %+v", got)
	}
}
