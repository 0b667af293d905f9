package v3

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
)

// WasmClass stands for the class of a job that has none in Java.
const WasmClass = "wasmjobd.WasmJob"

const average = "AVG_ALLOCATION"

// types returns the type by which ElasticJob 3 names a strategy, by its other names: ours
// and the classes of versions 2.1 and 3. Any other name is itself the type.
func types(name string) string {
	const (
		classes  = "com.dangdang.ddframe.job.lite.api.strategy.impl."
		classes3 = "org.apache.shardingsphere.elasticjob.infra.handler.sharding.impl."
	)
	switch name {
	case "average", classes + "AverageAllocationJobShardingStrategy", classes3 + "AverageAllocationJobShardingStrategy":
		return average
	case "odevity", classes + "OdevitySortByNameJobShardingStrategy", classes3 + "OdevitySortByNameJobShardingStrategy":
		return "ODEVITY"
	case "rotate", "round-robin", "round_robin", classes + "RotateServerByNameJobShardingStrategy", classes3 + "RoundRobinByNameJobShardingStrategy":
		return "ROUND_ROBIN"
	}
	return name
}

// sameStrategy reports whether two types assign alike; no type is the average strategy.
func sameStrategy(a, b string) bool { return cmp.Or(a, average) == cmp.Or(b, average) }

// sameZone reports whether two of ElasticJob 3's time zones have the same offset, like
// GMT+8 and GMT+08:00. It is false if one is missing or cannot be read.
func sameZone(a, b string) bool {
	zoneA, okA, _ := schedule.GMTZone(a)
	zoneB, okB, _ := schedule.GMTZone(b)
	if !okA || !okB {
		return false
	}
	_, offsetA := time.Time{}.In(zoneA).Zone()
	_, offsetB := time.Time{}.In(zoneB).Zone()
	return offsetA == offsetB
}

// handlers are ElasticJob's types of error handlers, by our names.
var handlers = map[job.ErrorHandler]string{job.ThrowErrors: "THROW", job.IgnoreErrors: "IGNORE"}

// FromJob returns the configuration that Java members read of a job of ours: its class,
// or one that stands for all jobs in Wasm. The command line of a script is a command of
// the operating system; for a module it is empty, and a Java member refuses to run it.
func FromJob(j job.Config) Config {
	c := Default()
	c.JobName, c.Class = j.Name, cmp.Or(j.Class, WasmClass)
	switch j.Kind {
	case job.Simple:
	case job.Dataflow:
		c.Dataflow, c.StreamingProcess = true, j.Streaming
	case job.Script:
		c.Class, c.ScriptCommandLine = typeScript, j.Command
	}
	c.Cron = j.Cron
	if strings.HasPrefix(j.TimeZone, "GMT") {
		c.TimeZone = j.TimeZone // ElasticJob cannot read others
	}
	c.ShardingTotalCount = clamp32(int64(j.Shards))
	c.ShardingItemParameters = j.ItemParams
	c.JobParameter = j.Param
	c.Failover = j.Failover
	c.Misfire = j.Misfire
	c.Description = j.Description
	c.MonitorExecution = j.MonitorExecution
	c.monitorPort = j.MonitorPort
	if j.MaxClockSkew >= 0 {
		c.MaxTimeDiffSeconds = clamp32(int64(j.MaxClockSkew / time.Second))
	}
	if !slices.Contains(j.Unsaid, "strategy") { // Java leaves it out as well if none is named
		c.JobShardingStrategyType = types(j.Strategy)
	}
	c.JobErrorHandlerType = handlers[j.ErrorHandler]
	c.ReconcileIntervalMinutes = clamp32(int64(j.ReconcileEvery / time.Minute))
	c.Disabled = j.Disabled
	c.Overwrite = j.Overwrite
	return c
}

func clamp32(n int64) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// Apply returns the job with the registry's configuration, which has precedence over the
// server's own file. The rest stays, including the command, since the right to write to the
// registry is no right to run programs on every server.
func (c Config) Apply(j job.Config) job.Config {
	if j.Kind == job.Dataflow {
		j.Streaming = c.StreamingProcess
	}
	j.Cron = c.Cron
	j.TimeZone = cmp.Or(c.TimeZone, j.TimeZone)
	j.Shards = int(c.ShardingTotalCount)
	j.ItemParams = c.ShardingItemParameters
	j.Param = c.JobParameter
	j.Failover = c.Failover
	j.Misfire = c.Misfire
	j.Description = c.Description
	j.MonitorExecution = c.MonitorExecution
	j.MonitorPort = 0
	j.MaxClockSkew = -1
	if c.MaxTimeDiffSeconds >= 0 {
		j.MaxClockSkew = time.Duration(c.MaxTimeDiffSeconds) * time.Second
	}
	// A name in the file stays if the registry has the same strategy.
	if !sameStrategy(types(j.Strategy), c.JobShardingStrategyType) {
		j.Strategy = c.JobShardingStrategyType
	}
	switch c.JobErrorHandlerType {
	case "", "LOG":
		j.ErrorHandler = job.LogErrors
	case "THROW":
		j.ErrorHandler = job.ThrowErrors
	case "IGNORE":
		j.ErrorHandler = job.IgnoreErrors
	}
	j.ReconcileEvery = spelling.Minutes(c.ReconcileIntervalMinutes)
	j.Disabled = c.Disabled
	j.Overwrite = c.Overwrite
	return j
}

// timeZone returns an error if ElasticJob 3 cannot read the time zone.
func (c *Config) timeZone() error {
	if c.TimeZone != "" && !strings.HasPrefix(c.TimeZone, "GMT") {
		return fmt.Errorf("timeZone %.100q: expected GMT, or an offset such as GMT+08:00", c.TimeZone)
	}
	return nil
}
