package v1

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// WasmClass stands for the class of a job that has none in Java.
	WasmClass = "wasmjobd.WasmJob"
	// ManualCron is the schedule of a job that is only triggered: Java
	// wants one, and this one has been over since 1970.
	ManualCron = "0 0 0 1 1 ? 1970"

	strategies = "com.dangdang.ddframe.job.plugin.sharding.strategy."
	later      = "com.dangdang.ddframe.job.lite.api.strategy.impl." // in layouts 2.0 and 2.1
)

// classes has the classes that members of this layout know for the other names of the
// strategies: ours and those of later releases.
func classes(name string) string {
	switch name {
	case "average", "AVG_ALLOCATION", later + "AverageAllocationJobShardingStrategy":
		return strategies + "AverageAllocationJobShardingStrategy"
	case "odevity", "ODEVITY", later + "OdevitySortByNameJobShardingStrategy":
		return strategies + "OdevitySortByNameJobShardingStrategy"
	case "rotate", "round-robin", "round_robin", "ROUND_ROBIN", later + "RotateServerByNameJobShardingStrategy":
		return strategies + "RotateServerByNameJobShardingStrategy"
	}
	return name
}

// sameStrategy reports whether two classes assign alike: none is the average one.
func sameStrategy(a, b string) bool {
	const average = strategies + "AverageAllocationJobShardingStrategy"
	return cmp.Or(a, average) == cmp.Or(b, average)
}

// FromJob returns the configuration that members read of a job of ours. Whether the job
// is disabled, or its file replaces what is there, is no part of it: in this layout the
// first is a node of each server, and the second what a member alone knows.
func FromJob(j job.Config) Config {
	c := Default()
	c.JobType, c.JobClass = Simple, cmp.Or(j.Class, WasmClass)
	switch j.Kind {
	case job.Simple:
	case job.Dataflow:
		c.JobType, c.StreamingProcess = Dataflow, j.Streaming
		c.FetchDataCount = clamp32(int64(max(j.FetchCount, 1)))
		c.ConcurrentDataProcessThreadCount = clamp32(int64(max(j.Concurrency, 1)))
	case job.Script:
		c.JobType, c.JobClass, c.ScriptCommandLine = Script, scriptClass, j.Command
	}
	c.Cron = cmp.Or(j.Cron, ManualCron)
	c.ShardingTotalCount = clamp32(int64(j.Shards))
	c.ShardingItemParameters, c.JobParameter, c.Description = j.ItemParams, j.Param, j.Description
	c.Failover, c.Misfire, c.MonitorExecution = j.Failover, j.Misfire, j.MonitorExecution
	if j.MonitorPort > 0 {
		c.MonitorPort = clamp32(int64(j.MonitorPort))
	}
	if j.MaxClockSkew >= 0 {
		c.MaxTimeDiffSeconds = clamp32(int64(j.MaxClockSkew / time.Second))
	}
	if !slices.Contains(j.Unsaid, "strategy") { // Java leaves it empty, too, where none is named
		c.JobShardingStrategyClass = classes(j.Strategy)
	}
	return c
}

func clamp32(n int64) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// Apply returns the job with the registry's configuration, which has precedence over the
// server's own file. What the registry does not hold stays, and so does the command: the
// right to write to the registry is no right to run programs on every server.
func (c Config) Apply(j job.Config) job.Config {
	if c.JobType == Dataflow && j.Kind == job.Dataflow {
		j.Streaming = c.StreamingProcess
		if n := int(c.FetchDataCount); n > 1 || j.FetchCount > 1 {
			j.FetchCount = max(n, 1)
		}
		if n := int(c.ConcurrentDataProcessThreadCount); n > 1 || j.Concurrency > 1 {
			j.Concurrency = max(n, 1)
		}
	}
	if j.Cron = c.Cron; c.Cron == ManualCron {
		j.Cron = ""
	}
	j.Shards = int(c.ShardingTotalCount)
	j.ItemParams, j.Param, j.Description = c.ShardingItemParameters, c.JobParameter, c.Description
	j.Failover, j.Misfire, j.MonitorExecution = c.Failover, c.Misfire, c.MonitorExecution
	j.MonitorPort = int(max(c.MonitorPort, 0))
	j.MaxClockSkew = -1
	if c.MaxTimeDiffSeconds >= 0 {
		j.MaxClockSkew = time.Duration(c.MaxTimeDiffSeconds) * time.Second
	}
	if !sameStrategy(classes(j.Strategy), c.JobShardingStrategyClass) {
		j.Strategy = c.JobShardingStrategyClass
	}
	return j
}
