package v1

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxConfig bounds the texts of all keys, in bytes. One transaction writes them, of
	// which ZooKeeper takes 1 MiB, including paths and other writes.
	MaxConfig = 1<<20 - 1<<16

	scriptClass = "com.dangdang.ddframe.job.plugin.job.type.integrated.ScriptElasticJob"
)

// JobType is the kind of class that a member calls.
type JobType string

// The kinds of jobs in layout 1. Releases before 1.1 have no node for the kind: only the
// class shows it, and every job has the settings of a dataflow.
const (
	Untyped  JobType = ""
	Simple   JobType = "SIMPLE"
	Dataflow JobType = "DATA_FLOW"
	Script   JobType = "SCRIPT"
)

// Config is the configuration of a job as ElasticJob 1.1 keeps it, with the types of Java.
type Config struct {
	JobType                  JobType
	JobClass                 string // always the same for a script
	ShardingTotalCount       int32
	ShardingItemParameters   string
	JobParameter             string
	Cron                     string
	MonitorExecution         bool
	MaxTimeDiffSeconds       int32 // negative: no check
	Failover                 bool
	Misfire                  bool
	JobShardingStrategyClass string
	Description              string
	MonitorPort              int32 // negative: none

	// Only in a dataflow, and in a job without a type, which has no StreamingProcess.
	ProcessCountIntervalSeconds      int32
	ConcurrentDataProcessThreadCount int32
	FetchDataCount                   int32
	StreamingProcess                 bool

	ScriptCommandLine string // of a script
}

// Entry is the node of a key with its text.
type Entry struct{ Key, Text string }

// Default returns the defaults of ElasticJob's builder; type, class, cron and total are
// still missing.
func Default() Config {
	return Config{
		MonitorExecution: true, MaxTimeDiffSeconds: -1, Misfire: true, MonitorPort: -1,
		ProcessCountIntervalSeconds: 300, ConcurrentDataProcessThreadCount: 1, FetchDataCount: 1,
	}
}

// key is a key with a pointer to its value: a *string, *int32, *bool or *JobType.
type key struct {
	name  string
	value any
}

// keys returns the keys that a job of its type has, in the order in which a member writes
// them.
func (c *Config) keys() []key {
	first := []key{
		{"jobClass", &c.JobClass},
		{"shardingTotalCount", &c.ShardingTotalCount},
		{"shardingItemParameters", &c.ShardingItemParameters},
		{"jobParameter", &c.JobParameter},
		{"cron", &c.Cron},
		{"monitorExecution", &c.MonitorExecution},
	}
	flow := []key{
		{"processCountIntervalSeconds", &c.ProcessCountIntervalSeconds},
		{"concurrentDataProcessThreadCount", &c.ConcurrentDataProcessThreadCount},
		{"fetchDataCount", &c.FetchDataCount},
	}
	last := []key{
		{"maxTimeDiffSeconds", &c.MaxTimeDiffSeconds},
		{"failover", &c.Failover},
		{"misfire", &c.Misfire},
		{"jobShardingStrategyClass", &c.JobShardingStrategyClass},
		{"description", &c.Description},
		{"monitorPort", &c.MonitorPort},
	}
	kind := []key{{"jobType", &c.JobType}}
	switch c.JobType {
	case Untyped:
		return slices.Concat(first, flow, last)
	case Dataflow:
		return slices.Concat(kind, first, last, flow, []key{{"streamingProcess", &c.StreamingProcess}})
	case Script:
		return slices.Concat(kind, first, last, []key{{"scriptCommandLine", &c.ScriptCommandLine}})
	case Simple:
	}
	return slices.Concat(kind, first, last)
}

// allKeys returns the keys of all types of jobs, in the order in which members write them:
// a dataflow has all but one.
func allKeys() []string {
	c := Config{JobType: Dataflow}
	var names []string
	for _, k := range c.keys() {
		names = append(names, k.name)
	}
	return append(names, "scriptCommandLine")
}

// check refuses a configuration that no member runs.
func (c *Config) check() error {
	switch {
	case c.Cron == "":
		return errors.New("config/cron is missing or empty")
	case c.ShardingTotalCount < 1:
		return fmt.Errorf("config/shardingTotalCount is missing, or %d is less than 1", c.ShardingTotalCount)
	case !slices.Contains([]JobType{Untyped, Simple, Dataflow, Script}, c.JobType):
		return fmt.Errorf("config/jobType: %.100q is none of %s, %s, %s", c.JobType, Simple, Dataflow, Script)
	case c.JobClass == "":
		return errors.New("config/jobClass is missing or empty")
	}
	n := 0
	for _, k := range c.keys() {
		n += len(text(k.value))
	}
	if n > MaxConfig {
		return fmt.Errorf("its keys have %d bytes, more than %d", n, MaxConfig)
	}
	return nil
}

// Encode returns the nodes that a member writes for a new job, to the byte and in its
// order. It refuses what Decode refuses.
func Encode(c Config) ([]Entry, error) {
	if c.JobType == Script {
		c.JobClass = scriptClass
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	var all []Entry
	for _, k := range c.keys() {
		all = append(all, Entry{k.name, text(k.value)})
	}
	return all, nil
}

// Decode reads the nodes of the keys. read returns the text of a key, and whether its node
// exists. Decode refuses a missing key that has no default, and a text that ElasticJob does
// not write for its key.
func Decode(read func(key string) (text string, ok bool)) (*Config, error) {
	c := Default()
	c.Misfire, c.MonitorExecution = false, false // a member reads false from a missing node
	// The type comes first, since it decides which keys the job has.
	kind, there := read("jobType")
	if c.JobType = JobType(kind); there && kind == "" {
		return nil, errors.New("config/jobType is empty")
	}
	for _, k := range c.keys() {
		data, ok := read(k.name)
		if !ok {
			continue
		}
		if err := set(k.value, data); err != nil {
			return nil, fmt.Errorf("config/%s: %w", k.name, err)
		}
	}
	if c.JobType == Script {
		c.JobClass = scriptClass
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Update returns the keys to write to change the present configuration to c: those that
// differ, in their order. A text with the same meaning stays, and so does a missing key,
// since a member may be about to write it and leaves keys that exist.
func Update(read func(key string) (text string, ok bool), c Config) ([]Entry, error) {
	want, err := Encode(c)
	if err != nil {
		return nil, err
	}
	old, err := Decode(read)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, k := range old.keys() {
		values[k.name] = text(k.value)
	}
	var changed []Entry
	for _, e := range want {
		if was, known := values[e.Key]; !known || was != e.Text {
			changed = append(changed, e)
		}
	}
	return changed, nil
}

// text returns the text that a member writes for a value of keys.
func text(value any) string {
	switch v := value.(type) {
	case *string:
		return *v
	case *JobType:
		return string(*v)
	case *int32:
		return strconv.FormatInt(int64(*v), 10)
	case *bool:
		return strconv.FormatBool(*v)
	}
	return ""
}

// set reads the text of a key into a value of keys, as strictly as a member does. For
// booleans it is stricter: a member takes any text other than true for false.
func set(value any, data string) error {
	switch v := value.(type) {
	case *string:
		*v = data
	case *JobType:
		*v = JobType(data)
	case *int32:
		n, err := strconv.ParseInt(data, 10, 32)
		if err != nil {
			return fmt.Errorf("%.50q: expected a number of 32 bits", data)
		}
		*v = int32(n)
	case *bool:
		if !strings.EqualFold(data, "true") && !strings.EqualFold(data, "false") {
			return fmt.Errorf("%.50q: expected true or false", data)
		}
		*v = strings.EqualFold(data, "true")
	}
	return nil
}
