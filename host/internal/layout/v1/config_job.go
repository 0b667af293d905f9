package v1

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
)

// ElasticJob's strategies have the same class names here as later, in another package.
const (
	strategies = "com.dangdang.ddframe.job.plugin.sharding.strategy."
	later      = "com.dangdang.ddframe.job.lite.api.strategy.impl."
)

var ofElasticJob = []string{"AverageAllocationJobShardingStrategy", "OdevitySortByNameJobShardingStrategy", "RotateServerByNameJobShardingStrategy"}

// moved returns the name of one of ElasticJob's own strategies in another release: if class
// is one of them in the package from, the class of the same name in the package to. Other
// classes stay.
func moved(class, from, to string) string {
	if name, ok := strings.CutPrefix(class, from); ok && slices.Contains(ofElasticJob, name) {
		return to + name
	}
	return class
}

// sameStrategy reports whether two classes assign alike; no class is the average strategy.
func sameStrategy(a, b string) bool {
	average := strategies + ofElasticJob[0]
	return cmp.Or(a, average) == cmp.Or(b, average)
}

// Later returns the job's configuration in layout 2.1, without the keys that only this
// layout has. A job without a type is a simple one.
func (c Config) Later(name string) v21.Config {
	l := v21.Default()
	l.JobName, l.JobClass, l.JobType = name, c.JobClass, v21.Simple
	switch c.JobType {
	case Dataflow:
		l.JobType, l.StreamingProcess = v21.Dataflow, c.StreamingProcess
	case Script:
		l.JobType, l.JobClass, l.ScriptCommandLine = v21.Script, v21.ScriptClass, c.ScriptCommandLine
	case Simple, Untyped:
	}
	l.Cron, l.ShardingTotalCount, l.ShardingItemParameters = c.Cron, c.ShardingTotalCount, c.ShardingItemParameters
	l.JobParameter, l.Description = c.JobParameter, c.Description
	l.Failover, l.Misfire, l.MonitorExecution = c.Failover, c.Misfire, c.MonitorExecution
	l.MaxTimeDiffSeconds = max(c.MaxTimeDiffSeconds, -1)
	if c.MonitorPort > 0 {
		l.MonitorPort = c.MonitorPort
	}
	l.JobShardingStrategyClass = moved(c.JobShardingStrategyClass, strategies, later)
	return l
}

// FromJob returns the configuration of a job of ours.
func FromJob(j job.Config) Config {
	l, c := v21.FromJob(j), Default()
	c.JobType, c.JobClass = Simple, l.JobClass
	switch l.JobType {
	case v21.Dataflow:
		c.JobType, c.StreamingProcess = Dataflow, l.StreamingProcess
		c.FetchDataCount, c.ConcurrentDataProcessThreadCount = int32(max(j.FetchCount, 1)), int32(max(j.Concurrency, 1))
	case v21.Script:
		c.JobType, c.JobClass, c.ScriptCommandLine = Script, scriptClass, l.ScriptCommandLine
	case v21.Simple:
	}
	c.Cron, c.ShardingTotalCount, c.ShardingItemParameters = l.Cron, l.ShardingTotalCount, l.ShardingItemParameters
	c.JobParameter, c.Description = l.JobParameter, l.Description
	c.Failover, c.Misfire, c.MonitorExecution = l.Failover, l.Misfire, l.MonitorExecution
	c.MaxTimeDiffSeconds, c.MonitorPort = l.MaxTimeDiffSeconds, l.MonitorPort
	c.JobShardingStrategyClass = moved(l.JobShardingStrategyClass, later, strategies)
	return c
}

// Apply returns the job with the registry's configuration, which has precedence over the
// server's own file. What the registry does not hold stays. The layout has no interval of
// reconciliation.
func (c Config) Apply(j job.Config) job.Config {
	of := c.Later(j.Name)
	// The layout keeps neither of the first two, so those of the file stay.
	of.Disabled, of.Overwrite, of.ReconcileIntervalMinutes = j.Disabled, j.Overwrite, 0
	// A job without a type may be a dataflow.
	if j.Kind == job.Dataflow && (c.JobType == Dataflow || c.JobType == Untyped) {
		j.FetchCount = count(c.FetchDataCount, j.FetchCount, job.MaxBatch)
		j.Concurrency = count(c.ConcurrentDataProcessThreadCount, j.Concurrency, job.MaxConcurrency)
	}
	return of.Apply(j)
}

// count returns there, a count in the registry, within our bounds. here is that of the
// server's file, where 0 means the default, 1. It stays 0 if the registry has 1, so that
// the two do not seem to differ.
func count(there int32, here, most int) int {
	n := min(max(int(there), 1), most)
	if n == 1 && here == 0 {
		return 0
	}
	return n
}
