package job

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

//go:generate go test -run ^TestSettingsPage$ -update .

// Setting describes a setting of a job. The table of all settings is what jobs.toml is read by,
// what Validate checks, and what decides which settings the registry keeps beside ElasticJob's
// own.
type Setting struct {
	Name  string            // in jobs.toml, below the job
	Field func(*Config) any // points to the field of a Config
	Type  SettingType
	Words []string // the values of a Word
	Zero  string   // the word for the zero value in jobs.toml, "off" or "none"
	// Min and Max bound a Number or Size in jobs.toml. A Config may have less than Min, as long
	// as it is not negative.
	Min, Max int64
	Unit     time.Duration // a Duration is a multiple of it
	Default  any           // the value if jobs.toml has none; nil: the zero value
	Must     bool          // the zero value in a Config is a fault
	Negative bool          // the word Zero stands for any negative value, and 0 is a value
	Kinds    []Kind        // kinds of jobs that have it; nil: all
	Sandbox  bool          // jobs with an operating system command do not have it
	Inherits bool          // [defaults] can set it for all jobs
	Key      string        // in ElasticJob's config
	Module   bool          // the registry keeps it in wasm/module, under Name
	Key1     string        // in layout 1, the key of the configuration that keeps it instead
	Yields   bool          // a default yields to the value in the registry
	Change   Change
}

// Misplaced returns why a job of the given kind, with a command or a module, cannot have the
// setting. It returns no reason if it can.
func (s *Setting) Misplaced(kind Kind, command bool) reason.Reason {
	if len(s.Kinds) > 0 && !slices.Contains(s.Kinds, kind) {
		names := make([]string, len(s.Kinds))
		for i, k := range s.Kinds {
			names[i] = string(k)
		}
		return reason.Of(reason.KeyOfOtherKind, strings.Join(names, " or "), strconv.Quote(names[0]))
	}
	if s.Sandbox && command {
		return reason.Of(reason.KeyOfSandbox)
	}
	return reason.Reason{}
}

// SettingType is how a setting is written in jobs.toml.
type SettingType string

const (
	Text      SettingType = "text"
	Word      SettingType = "word"     // one of a few
	Flag      SettingType = "flag"     // true or false
	Number    SettingType = "number"   // an integer
	Duration  SettingType = "duration" // "90s"
	Size      SettingType = "size"     // "64MiB", in bytes
	List      SettingType = "list"     // of strings
	Texts     SettingType = "texts"    // a table of strings with free names
	Items     SettingType = "items"    // item parameters: "0=a,1=b" or { 0 = "a" }
	Instances SettingType = "instances"
)

// Change is when another value of a setting takes effect on a server that runs the job.
type Change string

const (
	AtOnce   Change = ""                                   // for runs that begin after it
	AtFirst  Change = "on servers that are new to the job" // those that the job has not seen yet
	FromFile Change = "when the server reads its file"     // its own file, at a reload as well
)

// defaultReconcile is ElasticJob's default.
const defaultReconcile = 10 * time.Minute

// Settings returns all settings. wasm/module has them in this order.
func Settings() iter.Seq[Setting] { return slices.Values(settings) }

var (
	flow    = []Kind{Dataflow}
	script  = []Kind{Script}
	modular = []Kind{Simple, Dataflow} // jobs whose modules the host calls, not scripts

	settings = []Setting{
		{Name: "kind", Field: func(c *Config) any { return &c.Kind }, Type: Word, Words: []string{"simple", "dataflow", "script"}, Default: "simple", Must: true, Key: "jobType", Module: true},
		{Name: "module", Field: func(c *Config) any { return &c.Module }, Type: Text, Module: true},
		{Name: "cron", Field: func(c *Config) any { return &c.Cron }, Type: Text, Key: "cron"},
		{Name: "class", Field: func(c *Config) any { return &c.Class }, Type: Text, Key: "jobClass", Module: true},
		{Name: "timezone", Field: func(c *Config) any { return &c.TimeZone }, Type: Text, Inherits: true, Module: true},
		{Name: "dialect", Field: func(c *Config) any { return &c.Dialect }, Type: Word, Words: []string{"quartz", "unix"}, Default: "quartz", Inherits: true, Module: true},
		{Name: "except", Field: func(c *Config) any { return &c.Except }, Type: List, Inherits: true, Module: true},
		{Name: "after", Field: func(c *Config) any { return &c.After }, Type: List, Module: true},
		{Name: "jitter", Field: func(c *Config) any { return &c.Jitter }, Type: Duration, Zero: "off", Unit: time.Second, Inherits: true, Module: true},
		{Name: "shards", Field: func(c *Config) any { return &c.Shards }, Type: Number, Min: 1, Max: MaxShards, Default: int64(1), Must: true, Key: "shardingTotalCount", Yields: true},
		{Name: "item_params", Field: func(c *Config) any { return &c.ItemParams }, Type: Items, Key: "shardingItemParameters", Yields: true},
		{Name: "param", Field: func(c *Config) any { return &c.Param }, Type: Text, Key: "jobParameter", Yields: true},
		{Name: "description", Field: func(c *Config) any { return &c.Description }, Type: Text, Key: "description", Yields: true},
		{Name: "strategy", Field: func(c *Config) any { return &c.Strategy }, Type: Text, Default: "average", Inherits: true, Key: "jobShardingStrategyClass", Yields: true},
		{Name: "strategy_module", Field: func(c *Config) any { return &c.StrategyModule }, Type: Text, Inherits: true, Module: true},
		{Name: "strategy_error", Field: func(c *Config) any { return &c.OnStrategyError }, Type: Word, Words: []string{"average", "keep"}, Inherits: true, Module: true},
		{Name: "failover", Field: func(c *Config) any { return &c.Failover }, Type: Flag, Inherits: true, Key: "failover", Yields: true},
		{Name: "misfire", Field: func(c *Config) any { return &c.Misfire }, Type: Flag, Default: true, Inherits: true, Key: "misfire", Yields: true},
		{Name: "monitor_execution", Field: func(c *Config) any { return &c.MonitorExecution }, Type: Flag, Default: true, Inherits: true, Key: "monitorExecution", Yields: true},
		{Name: "monitor_port", Field: func(c *Config) any { return &c.MonitorPort }, Type: Number, Min: 1, Max: math.MaxUint16, Key: "monitorPort", Change: FromFile},
		{Name: "disabled", Field: func(c *Config) any { return &c.Disabled }, Type: Flag, Key: "disabled", Yields: true, Change: AtFirst},
		{Name: "overwrite", Field: func(c *Config) any { return &c.Overwrite }, Type: Flag, Inherits: true, Key: "overwrite", Yields: true, Change: FromFile},
		{Name: "catch_up", Field: func(c *Config) any { return &c.CatchUp }, Type: Word, Words: []string{"last", "all"}, Zero: "none", Inherits: true, Module: true},
		{Name: "overlap", Field: func(c *Config) any { return &c.Overlap }, Type: Word, Words: []string{"skip", "queue-one", "replace"}, Default: "skip", Must: true, Inherits: true, Module: true},
		{Name: "on_registry_loss", Field: func(c *Config) any { return &c.OnRegistryLoss }, Type: Word, Words: []string{"cancel", "finish"}, Default: "cancel", Must: true, Inherits: true, Module: true},
		{Name: "timeout", Field: func(c *Config) any { return &c.Timeout }, Type: Duration, Zero: "off", Inherits: true, Module: true},
		{Name: "retry.attempts", Field: func(c *Config) any { return &c.Retry.Attempts }, Type: Number, Min: 1, Max: MaxAttempts, Inherits: true, Module: true},
		{Name: "retry.backoff", Field: func(c *Config) any { return &c.Retry.Backoff }, Type: Duration, Inherits: true, Module: true},
		{Name: "retry.max_backoff", Field: func(c *Config) any { return &c.Retry.MaxBackoff }, Type: Duration, Inherits: true, Module: true},
		{Name: "retry.only_asked", Field: func(c *Config) any { return &c.Retry.OnlyAsked }, Type: Flag, Kinds: modular, Module: true}, // scripts cannot ask for it
		{Name: "error_handler", Field: func(c *Config) any { return &c.ErrorHandler }, Type: Word, Words: []string{"throw", "ignore"}, Zero: "log", Inherits: true, Module: true},
		{Name: "notify", Field: func(c *Config) any { return &c.Notify }, Type: List, Inherits: true, Module: true},
		{Name: "expect.within", Field: func(c *Config) any { return &c.Expect.Within }, Type: Duration, Inherits: true, Module: true},
		{Name: "expect.max_duration", Field: func(c *Config) any { return &c.Expect.MaxDuration }, Type: Duration, Inherits: true, Module: true},
		{Name: "parallel", Field: func(c *Config) any { return &c.Parallel }, Type: Number, Min: 1, Max: MaxShards, Inherits: true, Module: true},
		{Name: "max_clock_skew", Field: func(c *Config) any { return &c.MaxClockSkew }, Type: Duration, Zero: "off", Negative: true, Unit: time.Second, Default: time.Duration(-1), Inherits: true, Key: "maxTimeDiffSeconds", Yields: true},
		{Name: "reconcile_every", Field: func(c *Config) any { return &c.ReconcileEvery }, Type: Duration, Zero: "off", Unit: time.Minute, Default: defaultReconcile, Inherits: true, Key: "reconcileIntervalMinutes", Yields: true},
		{Name: "layout", Field: func(c *Config) any { return &c.Layout }, Type: Word, Words: []string{Layout1, Layout20, Layout21, Layout3}, Must: true, Inherits: true, Change: FromFile},
		{Name: "streaming", Field: func(c *Config) any { return &c.Streaming }, Type: Flag, Kinds: flow, Key: "streamingProcess", Yields: true},
		{Name: "fetch_count", Field: func(c *Config) any { return &c.FetchCount }, Type: Number, Min: 1, Max: MaxBatch, Kinds: flow, Module: true, Key1: "fetchDataCount"},
		{Name: "concurrency", Field: func(c *Config) any { return &c.Concurrency }, Type: Number, Min: 1, Max: MaxConcurrency, Kinds: flow, Module: true, Key1: "concurrentDataProcessThreadCount"},
		{Name: "args", Field: func(c *Config) any { return &c.Args }, Type: List, Kinds: script, Module: true},
		{Name: "command", Field: func(c *Config) any { return &c.Command }, Type: Text, Kinds: script, Key: "scriptCommandLine", Change: FromFile},
		{Name: "config", Field: func(c *Config) any { return &c.Settings }, Type: Texts, Module: true},

		// A page of WebAssembly memory is 64 KiB and there are at most 65,536.
		{Name: "limits.memory", Field: func(c *Config) any { return &c.Limits.Memory }, Type: Size, Min: 64 << 10, Max: 4 << 30, Sandbox: true, Inherits: true, Module: true},
		{Name: "limits.fuel", Field: func(c *Config) any { return &c.Limits.Fuel }, Type: Number, Max: 1_000_000_000_000_000_000, Sandbox: true, Inherits: true, Module: true},
		{Name: "limits.result", Field: func(c *Config) any { return &c.Limits.Result }, Type: Size, Min: 1, Max: 64 << 20, Inherits: true, Module: true},
		{Name: "limits.log_line", Field: func(c *Config) any { return &c.Limits.LogLine }, Type: Size, Min: 64, Max: 1 << 20, Inherits: true, Module: true},
		{Name: "limits.log_rate", Field: func(c *Config) any { return &c.Limits.LogRate }, Type: Number, Min: 1, Max: 1_000_000, Inherits: true, Module: true},
		{Name: "limits.grace", Field: func(c *Config) any { return &c.Limits.Grace }, Type: Duration, Inherits: true, Module: true},
		{Name: "limits.batch", Field: func(c *Config) any { return &c.Limits.Batch }, Type: Size, Min: 1, Max: 1 << 30, Kinds: flow, Inherits: true, Module: true},
		{Name: "limits.state_value", Field: func(c *Config) any { return &c.Limits.StateValue }, Type: Size, Min: 1, Max: MaxState, Sandbox: true, Inherits: true, Module: true},
		{Name: "limits.http_calls", Field: func(c *Config) any { return &c.Limits.HTTPCalls }, Type: Number, Min: 1, Max: MaxHTTPCalls, Sandbox: true, Inherits: true, Module: true},
		{Name: "limits.http_body", Field: func(c *Config) any { return &c.Limits.HTTPBody }, Type: Size, Min: 1, Max: MaxHTTPBody, Sandbox: true, Inherits: true, Module: true},
		{Name: "limits.open_files", Field: func(c *Config) any { return &c.Limits.OpenFiles }, Type: Number, Min: 1, Max: MaxOpenFiles, Sandbox: true, Inherits: true, Module: true},
		{Name: "limits.instance", Field: func(c *Config) any { return &c.Limits.Pool }, Type: Instances, Zero: "per-run", Kinds: modular, Inherits: true, Module: true},

		{Name: "allow.dirs", Field: func(c *Config) any { return &c.Allow.Dirs }, Type: List, Sandbox: true, Module: true},
		{Name: "allow.env", Field: func(c *Config) any { return &c.Allow.Env }, Type: Texts, Module: true},
		{Name: "allow.clock", Field: func(c *Config) any { return &c.Allow.Clock }, Type: Word, Words: []string{"fixed", "real"}, Sandbox: true, Module: true},
		{Name: "allow.random", Field: func(c *Config) any { return &c.Allow.Random }, Type: Flag, Sandbox: true, Module: true},
		{Name: "allow.state", Field: func(c *Config) any { return &c.Allow.State }, Type: Flag, Sandbox: true, Module: true},
		{Name: "allow.secrets", Field: func(c *Config) any { return &c.Allow.Secrets }, Type: List, Sandbox: true, Module: true},
		{Name: "allow.http", Field: func(c *Config) any { return &c.Allow.HTTP }, Type: List, Sandbox: true, Module: true},
	}
)
