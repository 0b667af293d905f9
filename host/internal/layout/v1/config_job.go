package v1

import (
	"cmp"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

const (
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
