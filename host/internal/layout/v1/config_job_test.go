package v1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
)

// The registry's values have precedence, except for what runs on the servers.
func TestConfigAppliesToAnotherFile(t *testing.T) {
	t.Parallel()
	c := Config{
		JobType: Dataflow, StreamingProcess: true, FetchDataCount: 9, ConcurrentDataProcessThreadCount: 1, Cron: v21.ManualCron, ShardingTotalCount: 5,
		MaxTimeDiffSeconds: 30, MonitorPort: -1, ScriptCommandLine: "rm -rf /", JobShardingStrategyClass: strategies + "RotateServerByNameJobShardingStrategy",
	}
	flow := job.Config{
		Kind: job.Dataflow, Cron: "c", Concurrency: 4, MonitorPort: 7, Strategy: later + "OdevitySortByNameJobShardingStrategy", Command: "echo",
		Disabled: true, Overwrite: true,
	}
	want := job.Config{
		Kind: job.Dataflow, Streaming: true, FetchCount: 9, Concurrency: 1, Shards: 5, MaxClockSkew: 30 * time.Second,
		Strategy: later + "RotateServerByNameJobShardingStrategy", Command: "echo", Disabled: true, Overwrite: true,
	}
	if diff := cmp.Diff(want, c.Apply(flow)); diff != "" {
		t.Error(diff)
	}
	if got := c.Apply(job.Config{Kind: job.Simple, Strategy: "rotate"}); got.Streaming || got.FetchCount != 0 || got.Strategy != "rotate" {
		t.Errorf("got %+v", got)
	}
}

// A job of ours is written in the terms of this layout, and read back as it was.
func TestConfigOfAJob(t *testing.T) {
	t.Parallel()
	j := job.Config{
		Name: "j", Kind: job.Dataflow, Streaming: true, Cron: "c", Shards: 3, ItemParams: "0=a", Param: "p", Description: "d", Strategy: "odevity",
		Failover: true, Misfire: true, MonitorExecution: true, MonitorPort: 7, MaxClockSkew: -1, FetchCount: 50,
	}
	c := FromJob(j)
	want := Default()
	want.JobType, want.JobClass, want.StreamingProcess = Dataflow, v21.WasmClass, true
	want.Cron, want.ShardingTotalCount, want.ShardingItemParameters, want.JobParameter, want.Description = "c", 3, "0=a", "p", "d"
	want.JobShardingStrategyClass = strategies + "OdevitySortByNameJobShardingStrategy"
	want.Failover, want.MonitorPort, want.FetchDataCount = true, 7, 50
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(j, c.Apply(j)); diff != "" {
		t.Error(diff)
	}
	if got := FromJob(job.Config{Kind: job.Script, Command: "echo", Shards: 1, Cron: "c"}); got.JobType != Script || got.JobClass != scriptClass || got.ScriptCommandLine != "echo" {
		t.Errorf("a script is %+v", got)
	}
}
