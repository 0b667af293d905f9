package v1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
)

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
