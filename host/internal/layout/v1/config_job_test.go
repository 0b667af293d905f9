package v1

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
		"dataflow":  func(j *job.Config) { j.Kind, j.Streaming, j.FetchCount, j.Concurrency = job.Dataflow, true, 7, 3 },
		"no counts": func(j *job.Config) { j.Kind = job.Dataflow },
		"script":    func(j *job.Config) { j.Kind, j.Command = job.Script, "echo a=b" },
		"all": func(j *job.Config) {
			j.Class, j.ItemParams, j.Param, j.Description, j.Failover, j.Misfire, j.MonitorExecution = "a.B", "0=a", "p", "ü", true, false, false
			j.MonitorPort, j.MaxClockSkew, j.Strategy, j.Disabled, j.Overwrite, j.ReconcileEvery = 9888, 0, "odevity", true, true, time.Minute
		},
	} {
		j := job.Config{Name: "j", Kind: job.Simple, Cron: "0 * * * * ?", Shards: 2, Misfire: true, MonitorExecution: true, MaxClockSkew: -1}
		change(&j)
		all, err := Encode(FromJob(j))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		nodes := map[string]string{}
		for _, e := range all {
			nodes[e.Key] = e.Text
		}
		c, err := Decode(reader(nodes))
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
	c := Config{
		JobType: Dataflow, StreamingProcess: true, FetchDataCount: 9, ConcurrentDataProcessThreadCount: 1, Cron: ManualCron, ShardingTotalCount: 5,
		MaxTimeDiffSeconds: 30, MonitorPort: -1, ScriptCommandLine: "rm -rf /", JobShardingStrategyClass: strategies + "RotateServerByNameJobShardingStrategy",
	}
	flow := job.Config{Kind: job.Dataflow, Cron: "c", Concurrency: 4, MonitorPort: 7, Strategy: later + "OdevitySortByNameJobShardingStrategy", Command: "echo"}
	want := job.Config{
		Kind: job.Dataflow, Streaming: true, FetchCount: 9, Concurrency: 1, Shards: 5, MaxClockSkew: 30 * time.Second,
		Strategy: c.JobShardingStrategyClass, Command: "echo",
	}
	if diff := cmp.Diff(want, c.Apply(flow)); diff != "" {
		t.Error(diff)
	}
	if got := c.Apply(job.Config{Kind: job.Simple, Strategy: "rotate"}); got.Streaming || got.FetchCount != 0 || got.Strategy != "rotate" {
		t.Errorf("got %+v", got)
	}
}
