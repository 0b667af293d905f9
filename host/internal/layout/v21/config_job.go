package v21

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// WasmClass stands for the class of a job that has none in Java.
	WasmClass = "wasmjobd.WasmJob"
	// ManualCron is the schedule of a job that only triggers run. Java needs a schedule,
	// and this one ended in 1970.
	ManualCron = "0 0 0 1 1 ? 1970"

	strategies  = "com.dangdang.ddframe.job.lite.api.strategy.impl."
	strategies3 = "org.apache.shardingsphere.elasticjob.infra.handler.sharding.impl."
)

// classes returns the class by which ElasticJob 2.1 names a strategy, by its other names:
// ours and those of version 3. Any other name is itself the class.
func classes(name string) string {
	switch name {
	case "average", "AVG_ALLOCATION", strategies3 + "AverageAllocationJobShardingStrategy":
		return strategies + "AverageAllocationJobShardingStrategy"
	case "odevity", "ODEVITY", strategies3 + "OdevitySortByNameJobShardingStrategy":
		return strategies + "OdevitySortByNameJobShardingStrategy"
	case "rotate", "round-robin", "round_robin", "ROUND_ROBIN", strategies3 + "RoundRobinByNameJobShardingStrategy":
		return strategies + "RotateServerByNameJobShardingStrategy"
	}
	return name
}

// sameStrategy reports whether two classes assign alike; no class is the average strategy.
func sameStrategy(a, b string) bool {
	const none, average = "", strategies + "AverageAllocationJobShardingStrategy"
	return a == b || a == none && b == average || a == average && b == none
}

// FromJob returns the configuration that Java members read of a job of ours. A job without
// a class gets one that stands for all jobs in Wasm. The command line of a script is a
// command of the operating system. A script that is a module has an empty one, and a Java
// member refuses to run it.
func FromJob(j job.Config) Config {
	c := Default()
	c.JobName = j.Name
	c.JobType, c.JobClass = Simple, cmp.Or(j.Class, WasmClass)
	switch j.Kind {
	case job.Simple:
	case job.Dataflow:
		c.JobType, c.StreamingProcess = Dataflow, j.Streaming
	case job.Script:
		c.JobType, c.JobClass, c.ScriptCommandLine = Script, ScriptClass, j.Command
	}
	c.Cron = cmp.Or(j.Cron, ManualCron)
	c.ShardingTotalCount = clamp32(int64(j.Shards))
	c.ShardingItemParameters = j.ItemParams
	c.JobParameter = j.Param
	c.Failover = j.Failover
	c.Misfire = j.Misfire
	c.Description = j.Description
	c.MonitorExecution = j.MonitorExecution
	if j.MonitorPort > 0 {
		c.MonitorPort = clamp32(int64(j.MonitorPort))
	}
	c.MaxTimeDiffSeconds = -1
	if j.MaxClockSkew >= 0 {
		c.MaxTimeDiffSeconds = clamp32(int64(j.MaxClockSkew / time.Second))
	}
	if !slices.Contains(j.Unsaid, "strategy") { // Java leaves it empty as well if none is named
		c.JobShardingStrategyClass = classes(j.Strategy)
	}
	c.ReconcileIntervalMinutes = clamp32(int64(j.ReconcileEvery / time.Minute))
	c.Disabled = j.Disabled
	c.Overwrite = j.Overwrite
	return c
}

func clamp32(n int64) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// Apply returns the job with the registry's configuration, which has precedence over the
// server's own file. The rest stays: kind, class, module, grants and the like. The command
// stays as well, since the right to write to the registry is no right to run programs on
// every server.
func (c Config) Apply(j job.Config) job.Config {
	if c.JobType == Dataflow && j.Kind == job.Dataflow {
		j.Streaming = c.StreamingProcess
	}
	j.Cron = c.Cron
	if c.Cron == ManualCron {
		j.Cron = ""
	}
	j.Shards = int(c.ShardingTotalCount)
	j.ItemParams = c.ShardingItemParameters
	j.Param = c.JobParameter
	j.Failover = c.Failover
	j.Misfire = c.Misfire
	j.Description = c.Description
	j.MonitorExecution = c.MonitorExecution
	j.MonitorPort = int(max(c.MonitorPort, 0))
	j.MaxClockSkew = -1
	if c.MaxTimeDiffSeconds >= 0 {
		j.MaxClockSkew = time.Duration(c.MaxTimeDiffSeconds) * time.Second
	}
	// A name in the file stays if the registry has the same strategy.
	if !sameStrategy(classes(j.Strategy), c.JobShardingStrategyClass) {
		j.Strategy = c.JobShardingStrategyClass
	}
	j.ReconcileEvery = spelling.Minutes(c.ReconcileIntervalMinutes)
	j.Disabled = c.Disabled
	j.Overwrite = c.Overwrite
	return j
}
