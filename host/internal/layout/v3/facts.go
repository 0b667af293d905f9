package v3

import (
	"encoding/json"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/job"
)

// Facts returns what other packages read of the configuration.
func (c Config) Facts() definition.Facts {
	kind, word := job.Simple, "SIMPLE"
	switch {
	case c.Class == typeHTTP:
		word = typeHTTP
	case c.Class == typeScript:
		kind, word = job.Script, typeScript
	case c.Dataflow:
		kind, word = job.Dataflow, "DATAFLOW"
	}
	only := types(c.JobShardingStrategyType)
	if only == c.JobShardingStrategyType { // it is the type already
		only = ""
	}
	return definition.Facts{
		Name: c.JobName, Layout: job.Layout3, Class: c.Class, Type: word, Kind: kind,
		OnlyOurs: c.Class == WasmClass || c.Class == "" || kind == job.Script && c.ScriptCommandLine == "",
		HTTP:     c.Class == typeHTTP, Static: c.StaticSharding,
		Strategy: c.JobShardingStrategyType, StrategyType: only, Failover: c.Failover, MonitorExecution: c.MonitorExecution, Overwrite: c.Overwrite,
	}
}

// Adopt returns c, the configuration by a server's file, with those values of from, the
// registry's, that a file cannot give, so that the file does not seem to change them. These
// are most of the keys below, and values of settings for which the file names nothing, or
// the same thing by another name. class is the class that is kept beside the registry's
// module if the file names none; else it is empty.
func (c Config) Adopt(from definition.Config, class string) definition.Config {
	there, ok := from.(Config)
	if !ok {
		return c
	}
	c.JobExecutorServiceHandlerType, c.JobExecutorThreadPoolSizeProviderType = there.JobExecutorServiceHandlerType, there.JobExecutorThreadPoolSizeProviderType
	c.JobListenerTypes, c.JobExtraConfigurations = there.JobListenerTypes, there.JobExtraConfigurations
	c.Label, c.Props, c.StaticSharding = there.Label, there.Props, there.StaticSharding
	if !there.Dataflow && !there.Facts().OnlyOurs && !c.StreamingProcess {
		c.Dataflow = false // the class says that it is a dataflow; without the key it is not streaming
	}
	switch there.JobErrorHandlerType {
	case "", "THROW", "IGNORE": // a file can name these
	default:
		if c.JobErrorHandlerType == "" {
			c.JobErrorHandlerType = there.JobErrorHandlerType
		}
	}
	if class != "" && class == there.Class && c.Class == WasmClass {
		c.Class = class
	}
	if sameStrategy(c.JobShardingStrategyType, there.JobShardingStrategyType) {
		c.JobShardingStrategyType = there.JobShardingStrategyType
	}
	if sameZone(c.TimeZone, there.TimeZone) {
		c.TimeZone = there.TimeZone
	}
	return c
}

// Object returns the whole configuration as a JSON object. It refuses what EncodeConfig
// refuses.
func (c Config) Object() ([]byte, error) {
	if _, err := EncodeConfig(c); err != nil {
		return nil, err
	}
	return jsonvalue.Encode(c), nil
}

// FromObject reads what Object has written.
func (c Config) FromObject(text []byte) (definition.Config, error) {
	var read struct {
		Config

		// Setting is a setting of ours. Without it, a reader of JSON, which ignores case,
		// would take it for timeZone.
		Setting string `json:"timezone"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if err := read.check(); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return read.Config, nil
}
