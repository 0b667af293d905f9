package v3

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout/snakeyaml"
)

// MaxConfig is the largest text of a configuration, in bytes.
const MaxConfig = snakeyaml.MaxBytes

// Types that a job's own node may have in place of a class.
const (
	typeScript = "SCRIPT"
	typeHTTP   = "HTTP"
)

// Config is the configuration of a job as ElasticJob-Lite 3 keeps it. Missing texts are
// empty. Object writes it as JSON, where keys with a setting of ours have the names that
// the setting knows.
type Config struct {
	// Class is the value of the job's own node: a Java class, or SCRIPT. ElasticJob
	// recognises a dataflow by its class; here the key streaming.process of props marks
	// one, if the job has it.
	Class             string `json:"jobClass"`
	Dataflow          bool   `json:"dataflow"`
	StreamingProcess  bool   `json:"streamingProcess"`
	ScriptCommandLine string `json:"scriptCommandLine"`

	Cron                          string `json:"cron"` // empty: only triggers run the job
	Description                   string `json:"description"`
	Disabled                      bool   `json:"disabled"`
	Failover                      bool   `json:"failover"`
	JobErrorHandlerType           string `json:"jobErrorHandlerType"`
	JobExecutorServiceHandlerType string `json:"jobExecutorServiceHandlerType"`
	// JobExecutorThreadPoolSizeProviderType is the name of the key above in 3.0.5.
	JobExecutorThreadPoolSizeProviderType string `json:"jobExecutorThreadPoolSizeProviderType"`
	JobExtraConfigurations                string `json:"jobExtraConfigurations"` // its lines, unchanged
	JobListenerTypes                      string `json:"jobListenerTypes"`       // one a line
	JobName                               string `json:"jobName"`
	JobParameter                          string `json:"jobParameter"`
	JobShardingStrategyType               string `json:"jobShardingStrategyClass"`
	Label                                 string `json:"label"`
	MaxTimeDiffSeconds                    int32  `json:"maxTimeDiffSeconds"` // negative: no check
	Misfire                               bool   `json:"misfire"`
	MonitorExecution                      bool   `json:"monitorExecution"`
	Overwrite                             bool   `json:"overwrite"`
	Props                                 Props  `json:"props"`
	ReconcileIntervalMinutes              int32  `json:"reconcileIntervalMinutes"` // 0 or less: off
	ShardingItemParameters                string `json:"shardingItemParameters"`
	ShardingTotalCount                    int32  `json:"shardingTotalCount"`
	StaticSharding                        bool   `json:"staticSharding"`
	TimeZone                              string `json:"timeZone"`

	monitorPort int // the layout has no key for it
}

// Default returns the defaults of ElasticJob's builder; class, name and total are still
// missing.
func Default() Config {
	return Config{Misfire: true, MonitorExecution: true, MaxTimeDiffSeconds: -1, ReconcileIntervalMinutes: 10}
}

// check refuses a configuration that both the builder and the reader of ElasticJob refuse,
// or that the layout cannot keep.
func (c *Config) check() error {
	switch {
	case c.JobName == "":
		return errors.New("jobName is empty")
	case c.ShardingTotalCount < 1:
		return fmt.Errorf("shardingTotalCount is %d, less than 1", c.ShardingTotalCount)
	case c.monitorPort > 0:
		return errors.New("monitor_port: a job of layout 3 has none: leave it out")
	}
	return nil
}

// entry is a key with its lines; there are none if the key is left out.
type entry struct {
	key   string
	lines []byte
}

// entries returns all keys, in the order in which ElasticJob writes them. A key without a
// value has no lines; the last argument of text says that it is written even so.
func (c *Config) entries() ([]entry, error) {
	w := entryWriter{}
	w.text("cron", c.Cron, false)
	w.text("description", c.Description, true)
	w.word("disabled", c.Disabled)
	w.word("failover", c.Failover)
	w.text("jobErrorHandlerType", c.JobErrorHandlerType, false)
	w.text("jobExecutorServiceHandlerType", c.JobExecutorServiceHandlerType, false)
	w.text("jobExecutorThreadPoolSizeProviderType", c.JobExecutorThreadPoolSizeProviderType, false)
	w.all = append(w.all, entry{"jobExtraConfigurations", []byte(c.JobExtraConfigurations)})
	w.list("jobListenerTypes", c.JobListenerTypes)
	w.text("jobName", c.JobName, true)
	w.text("jobParameter", c.JobParameter, true)
	w.text("jobShardingStrategyType", c.JobShardingStrategyType, false)
	w.text("label", c.Label, false)
	w.word("maxTimeDiffSeconds", c.MaxTimeDiffSeconds)
	w.word("misfire", c.Misfire)
	w.word("monitorExecution", c.MonitorExecution)
	w.word("overwrite", c.Overwrite)
	w.props("props", c.props())
	w.word("reconcileIntervalMinutes", c.ReconcileIntervalMinutes)
	w.text("shardingItemParameters", c.ShardingItemParameters, true)
	w.word("shardingTotalCount", c.ShardingTotalCount)
	w.word("staticSharding", c.StaticSharding)
	w.text("timeZone", c.TimeZone, false)
	return w.all, w.err
}

// EncodeConfig writes the configuration to the byte as Java does, without the class. It
// refuses what Java's builder and reader refuse.
func EncodeConfig(c Config) ([]byte, error) {
	text, err := c.encode()
	if err != nil {
		return nil, fmt.Errorf("write configuration of job %.200q: %w", c.JobName, err)
	}
	return text, nil
}

// encode is EncodeConfig, with errors that do not name the job.
func (c *Config) encode() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	all, err := c.entries()
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, e := range all {
		text = append(text, e.lines...)
	}
	return bounded(text)
}

// bounded refuses a text that is too long to be read again.
func bounded(text []byte) ([]byte, error) {
	if len(text) > MaxConfig {
		return nil, fmt.Errorf("%d bytes are more than %d", len(text), MaxConfig)
	}
	return text, nil
}
