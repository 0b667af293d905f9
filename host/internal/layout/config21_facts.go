package layout

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// Facts implements definition.Config.
func (c Config21) Facts() definition.Facts {
	return definition.Facts{
		Name: c.JobName, Layout: job.Layout21, Class: c.JobClass, Type: string(c.JobType), Kind: c.JobType.kind(),
		OnlyOurs: c.JobClass == WasmClass21 || c.JobType == Script21 && c.ScriptCommandLine == "",
		Strategy: c.JobShardingStrategyClass, Failover: c.Failover, MonitorExecution: c.MonitorExecution, Overwrite: c.Overwrite,
	}
}

func (t JobType21) kind() job.Kind {
	switch t {
	case Dataflow21:
		return job.Dataflow
	case Script21:
		return job.Script
	case Simple21:
	}
	return job.Simple
}

// SameClass implements definition.Config.
func (c Config21) SameClass(j job.Config) bool { return FromJob(j).JobClass == c.JobClass }

// Adopt implements definition.Config.
func (c Config21) Adopt(from definition.Config, class string) definition.Config {
	there, ok := from.(Config21)
	if !ok {
		return c
	}
	c.JobProperties = there.JobProperties
	if c.MonitorPort < 0 {
		c.MonitorPort = there.MonitorPort
	}
	if class != "" && class == there.JobClass && c.JobClass == WasmClass21 {
		c.JobClass = class
	}
	if sameStrategy(c.JobShardingStrategyClass, there.JobShardingStrategyClass) {
		c.JobShardingStrategyClass = there.JobShardingStrategyClass
	}
	return c
}

// Object implements definition.Config.
func (c Config21) Object() ([]byte, error) { return EncodeConfig21(c) }

// FromObject implements definition.Config.
func (c Config21) FromObject(text []byte) (definition.Config, error) {
	read, err := DecodeConfig21(text)
	if err != nil {
		return nil, err
	}
	return *read, nil // an object is there
}
