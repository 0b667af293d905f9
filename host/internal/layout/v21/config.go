package v21

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/gson"
)

// MaxConfig is the largest text of a configuration, in bytes, as a node of ZooKeeper holds
// no more.
const MaxConfig = 1 << 20

// JobType is the kind of class that a Java member calls.
type JobType string

// The kinds of jobs in layout 2.1.
const (
	Simple   JobType = "SIMPLE"
	Dataflow JobType = "DATAFLOW"
	Script   JobType = "SCRIPT"
)

const (
	// ScriptClass is the class of every script job.
	ScriptClass = "com.dangdang.ddframe.job.api.script.ScriptJob"

	handlers = "com.dangdang.ddframe.job.executor.handler.impl."
)

// Config is the configuration of a job as ElasticJob-Lite 2.1 keeps it, with
// the types of Java.
type Config struct {
	JobName                  string
	JobClass                 string // always the same for a script
	JobType                  JobType
	Cron                     string
	ShardingTotalCount       int32
	ShardingItemParameters   string
	JobParameter             string
	Failover                 bool
	Misfire                  bool
	Description              string
	JobProperties            JobProperties
	StreamingProcess         bool   // of a dataflow
	ScriptCommandLine        string // of a script
	MonitorExecution         bool
	MaxTimeDiffSeconds       int32 // -1: no check
	MonitorPort              int32 // negative: none
	JobShardingStrategyClass string
	ReconcileIntervalMinutes int32 // 0 or less: off
	Disabled                 bool
	Overwrite                bool
}

// JobProperties are the classes that handle errors and threads in Java.
type JobProperties struct {
	JobExceptionHandler    string
	ExecutorServiceHandler string
}

// Default returns a configuration with the defaults of ElasticJob's builder; name,
// class, type, cron and total are still missing.
func Default() Config {
	c := absent()
	c.Misfire = true
	return c
}

// absent returns the values that Java reads for missing keys. They differ from the
// builder's: misfire is off.
func absent() Config {
	return Config{
		JobProperties: JobProperties{
			JobExceptionHandler:    handlers + "DefaultJobExceptionHandler",
			ExecutorServiceHandler: handlers + "DefaultExecutorServiceHandler",
		},
		MonitorExecution:         true,
		MaxTimeDiffSeconds:       -1,
		MonitorPort:              -1,
		ReconcileIntervalMinutes: 10,
	}
}

// check refuses a configuration that both the builder and the reader of ElasticJob refuse.
func (c *Config) check() error {
	switch {
	case c.JobName == "":
		return errors.New("jobName is empty")
	case c.Cron == "":
		return errors.New("cron is empty")
	case c.ShardingTotalCount < 1:
		return fmt.Errorf("shardingTotalCount is %d, less than 1", c.ShardingTotalCount)
	case !c.JobType.known():
		return fmt.Errorf("jobType %.100q is none of %s, %s, %s", c.JobType, Simple, Dataflow, Script)
	case c.JobType != Script && c.JobClass == "":
		return errors.New("jobClass is empty")
	}
	return nil
}

func (t JobType) known() bool { return t == Simple || t == Dataflow || t == Script }

// Word implements gson.Word.
func (t *JobType) Word() string { return string(*t) }

// SetWord implements gson.Word.
func (t *JobType) SetWord(text string) error {
	if *t = JobType(text); !t.known() {
		return fmt.Errorf("%.100q is none of %s, %s, %s", text, Simple, Dataflow, Script)
	}
	return nil
}

// Form is how a release keeps the configuration: with the keys of 2.1, except one.
type Form struct{ without string }

// Form20 is the form of ElasticJob-Lite 2.0.
var Form20 = Form{without: "reconcileIntervalMinutes"}

// object returns the keys of c that a job of its type has, for writing.
func (f Form) object(c *Config) *gson.Object {
	o := f.every(c)
	o.Members = slices.DeleteFunc(o.Members, func(m gson.Member) bool {
		return m.Key == "streamingProcess" && c.JobType != Dataflow ||
			m.Key == "scriptCommandLine" && c.JobType != Script
	})
	return o
}

// every returns all keys of c in this form. Reading needs them all, since it also checks
// values that a job of this type does not use.
func (f Form) every(c *Config) *gson.Object {
	o := c.every()
	o.Members = slices.DeleteFunc(o.Members, func(m gson.Member) bool { return m.Key == f.without })
	return o
}

// every returns all keys of layout 2.1, with pointers to the values in c.
func (c *Config) every() *gson.Object {
	p := &c.JobProperties
	begin := func() { *p = absent().JobProperties } // keys that the text leaves out have these values
	return &gson.Object{Members: []gson.Member{
		{Key: "jobName", Value: &c.JobName},
		{Key: "jobClass", Value: &c.JobClass},
		{Key: "jobType", Value: &c.JobType},
		{Key: "cron", Value: &c.Cron},
		{Key: "shardingTotalCount", Value: &c.ShardingTotalCount},
		{Key: "shardingItemParameters", Value: &c.ShardingItemParameters},
		{Key: "jobParameter", Value: &c.JobParameter},
		{Key: "failover", Value: &c.Failover},
		{Key: "misfire", Value: &c.Misfire},
		{Key: "description", Value: &c.Description},
		{Key: "jobProperties", Value: &gson.Object{Begin: begin, Members: []gson.Member{
			{Key: "job_exception_handler", Value: &p.JobExceptionHandler},
			{Key: "executor_service_handler", Value: &p.ExecutorServiceHandler},
		}}},
		{Key: "streamingProcess", Value: &c.StreamingProcess},
		{Key: "scriptCommandLine", Value: &c.ScriptCommandLine},
		{Key: "monitorExecution", Value: &c.MonitorExecution},
		{Key: "maxTimeDiffSeconds", Value: &c.MaxTimeDiffSeconds},
		{Key: "monitorPort", Value: &c.MonitorPort},
		{Key: "jobShardingStrategyClass", Value: &c.JobShardingStrategyClass},
		{Key: "reconcileIntervalMinutes", Value: &c.ReconcileIntervalMinutes},
		{Key: "disabled", Value: &c.Disabled},
		{Key: "overwrite", Value: &c.Overwrite},
	}}
}

// EncodeConfig is Encode of 2.1.
func EncodeConfig(c Config) ([]byte, error) { return Form{}.Encode(c) }

// Encode writes the configuration to the byte as Java does. It refuses what Java's
// builder and reader refuse.
func (f Form) Encode(c Config) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("write configuration of job %.200q: %w", c.JobName, err)
	}
	if c.JobType == Script {
		c.JobClass = ScriptClass
	}
	return c.bounded(f.object(&c).Append(nil))
}

// bounded refuses a text that is too long for a node.
func (c *Config) bounded(text []byte) ([]byte, error) {
	if len(text) > MaxConfig {
		return nil, fmt.Errorf("write configuration of job %.200q: %d bytes are more than %d", c.JobName, len(text), MaxConfig)
	}
	return text, nil
}

// DecodeConfig is Decode of 2.1.
func DecodeConfig(data []byte) (*Config, error) { return Form{}.Decode(data) }

// Decode reads a configuration that a Java member, its console or a person wrote.
// An empty text is no configuration: nil without error.
func (f Form) Decode(data []byte) (*Config, error) {
	c, _, err := f.read(data)
	if err != nil || c == nil {
		return nil, err
	}
	// A key that a job of this type does not use has no effect.
	c.StreamingProcess = c.StreamingProcess && c.JobType == Dataflow
	if c.JobType == Script {
		c.JobClass = ScriptClass
	} else {
		c.ScriptCommandLine = ""
	}
	return c, nil
}

// Unknown returns the keys of a configuration that ElasticJob does not know, in order.
func Unknown(data []byte) []string {
	_, o, err := Form{}.read(data)
	if err != nil || o == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(o.Unknown)))
}

// read reads all keys, also those that a job of this type does not use. The Object has
// where they are in the text. For an empty text all results are nil.
func (f Form) read(data []byte) (*Config, *gson.Object, error) {
	if len(data) > MaxConfig {
		return nil, nil, fmt.Errorf("read configuration: %d bytes are more than %d", len(data), MaxConfig)
	}
	c := absent()
	o := f.every(&c)
	err := gson.Read(data, o)
	if errors.Is(err, io.EOF) {
		return nil, nil, nil
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	return &c, o, nil
}
