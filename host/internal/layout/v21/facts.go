package v21

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// Facts returns what other packages read of the configuration.
func (c Config) Facts() definition.Facts {
	return definition.Facts{
		Name: c.JobName, Layout: job.Layout21, Class: c.JobClass, Type: string(c.JobType), Kind: c.JobType.kind(),
		OnlyOurs: c.JobClass == WasmClass || c.JobType == Script && c.ScriptCommandLine == "",
		Strategy: c.JobShardingStrategyClass, Failover: c.Failover, MonitorExecution: c.MonitorExecution, Overwrite: c.Overwrite,
	}
}

// kind returns our kind of job for a type of ElasticJob.
func (t JobType) kind() job.Kind {
	switch t {
	case Dataflow:
		return job.Dataflow
	case Script:
		return job.Script
	case Simple:
	}
	return job.Simple
}

// Adopt returns c, the configuration by a server's file, with those values of from, the
// registry's, that a file cannot give, so that the file does not seem to change them. These
// are JobProperties, and values of settings for which the file names nothing, or the same
// thing by another name. class is the class that is kept beside the registry's module if
// the file names none; else it is empty.
func (c Config) Adopt(from definition.Config, class string) definition.Config {
	there, ok := from.(Config)
	if !ok {
		return c
	}
	c.JobProperties = there.JobProperties
	if c.MonitorPort < 0 {
		c.MonitorPort = there.MonitorPort
	}
	if class != "" && class == there.JobClass && c.JobClass == WasmClass {
		c.JobClass = class
	}
	if sameStrategy(c.JobShardingStrategyClass, there.JobShardingStrategyClass) {
		c.JobShardingStrategyClass = there.JobShardingStrategyClass
	}
	return c
}

// Object implements definition.Config.
func (c Config) Object() ([]byte, error) { return EncodeConfig(c) }

// FromObject reads what Object has written.
func (c Config) FromObject(text []byte) (definition.Config, error) {
	read, err := DecodeConfig(text)
	if err != nil {
		return nil, err
	}
	return *read, nil // the text is an object
}
