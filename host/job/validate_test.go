package job

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func valid() Config {
	return Config{
		Name: "daily", Kind: Simple, Cron: "0 0 2 * * ?", Shards: 3, ItemParams: "0=a",
		Overlap: Skip, OnRegistryLoss: CancelOnLoss, Layout: Layout21, MaxClockSkew: -1,
		Allow: Allow{Dirs: []Dir{{Host: "/data", Guest: "/in"}}, Env: map[string]string{"TZ": "UTC"}},
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := valid().Validate(); err != nil {
		t.Fatalf("a valid configuration: %v", err)
	}
	long := strings.Repeat("x", MaxText+1)
	tests := map[string]struct {
		change func(*Config)
		fields []string
	}{
		"zero value":      {func(c *Config) { *c = Config{} }, []string{"name", "kind", "shards", "overlap", "on_registry_loss", "layout"}},
		"no name":         {func(c *Config) { c.Name = "" }, []string{"name"}},
		"slash":           {func(c *Config) { c.Name = "a/b" }, []string{"name"}},
		"delimiter":       {func(c *Config) { c.Name = "a@-@b" }, []string{"name"}},
		"dot":             {func(c *Config) { c.Name = "." }, []string{"name"}},
		"dots":            {func(c *Config) { c.Name = ".." }, []string{"name"}},
		"control":         {func(c *Config) { c.Name = "a\tb" }, []string{"name"}},
		"emoji":           {func(c *Config) { c.Name = "a😀" }, []string{"name"}},
		"private use":     {func(c *Config) { c.Name = "a\ue000" }, []string{"name"}},
		"bad text":        {func(c *Config) { c.Name = "a\xff" }, []string{"name"}},
		"long name":       {func(c *Config) { c.Name = strings.Repeat("x", MaxName+1) }, []string{"name"}},
		"many shards":     {func(c *Config) { c.Shards = MaxShards + 1 }, []string{"shards"}},
		"item params":     {func(c *Config) { c.ItemParams = "0:a" }, []string{"item_params"}},
		"kind and layout": {func(c *Config) { c.Kind, c.Layout = "Simple", "4" }, []string{"kind", "layout"}},
		"dialect":         {func(c *Config) { c.Dialect = "cron" }, []string{"dialect"}},
		"texts":           {func(c *Config) { c.Param, c.Description = long, "\xff" }, []string{"param", "description"}},
		"skew":            {func(c *Config) { c.MaxClockSkew = 1500e6 }, []string{"max_clock_skew"}},
		"reconcile":       {func(c *Config) { c.ReconcileEvery = 90e9 }, []string{"reconcile_every"}},
		"reconcile back":  {func(c *Config) { c.ReconcileEvery = -60e9 }, []string{"reconcile_every"}},
		"for ever":        {func(c *Config) { c.ReconcileEvery = 1<<63 - 1; c.MaxClockSkew = 1<<63 - 1 }, []string{"max_clock_skew", "reconcile_every"}},
		"negative": {func(c *Config) {
			c.Timeout, c.Parallel, c.Retry = -1, -1, Retry{Attempts: -1, Backoff: -1, MaxBackoff: -1}
			c.Limits = Limits{Memory: -1, Result: -1, LogLine: -1, LogRate: -1, Grace: -1}
		}, []string{"timeout", "parallel", "retry.attempts", "retry.backoff", "retry.max_backoff", "limits.memory", "limits.result", "limits.log_line", "limits.log_rate", "limits.grace"}},
		"retry":  {func(c *Config) { c.Retry = Retry{Attempts: 101, Backoff: 5e9, MaxBackoff: 4e9} }, []string{"retry.attempts", "retry.max_backoff"}},
		"notify": {func(c *Config) { c.Notify = make([]string, MaxNotify+1) }, []string{"notify"}},
		"errors": {func(c *Config) { c.ErrorHandler, c.Expect = "mail", Expect{Within: -1, MaxDuration: -1} }, []string{"error_handler", "expect.within", "expect.max_duration"}},
		"memory": {func(c *Config) { c.Limits.Memory = 5 << 30 }, []string{"limits.memory"}},
		"dirs": {func(c *Config) {
			c.Allow.Dirs = []Dir{{"/a", "in", false}, {"/a", "/in/../x", false}, {"", "/in", true}, {"/b", "/in", false}}
		}, []string{"allow.dirs[0]", "allow.dirs[1]", "allow.dirs[2]", "allow.dirs[3]"}},
		"catch up":                   {func(c *Config) { c.CatchUp = "some" }, []string{"catch_up"}},
		"catch up beside ElasticJob": {func(c *Config) { c.CatchUp, c.Class = CatchUpLast, "a.B" }, []string{"catch_up"}},
		"catch up and replace":       {func(c *Config) { c.CatchUp, c.Overlap, c.Misfire = CatchUpAll, Replace, false }, []string{"catch_up"}},
		"strategy error":             {func(c *Config) { c.OnStrategyError = "retry" }, []string{"strategy_error"}},
		"keys of other kinds": {func(c *Config) {
			c.Streaming, c.FetchCount, c.Concurrency, c.Args, c.Command = true, 1, 1, []string{"a"}, "echo"
			c.Allow.Dirs = nil
		}, []string{"streaming", "fetch_count", "concurrency", "args", "command", "args"}},
		"dataflow": {func(c *Config) {
			c.Kind, c.Streaming, c.FetchCount, c.Concurrency = Dataflow, true, MaxBatch+1, -1
		}, []string{"fetch_count", "concurrency"}},
		"script": {func(c *Config) {
			c.Kind, c.Args = Script, []string{"ok", "a\x00", "\xff"}
		}, []string{"args[1]", "args[2]"}},
		"long script": {func(c *Config) { c.Kind, c.Args = Script, append(make([]string, maxArgs), long) }, []string{"args", "args"}},
		"command": {func(c *Config) {
			c.Kind, c.Command, c.Module = Script, "'a", "m"
			c.Allow = Allow{Env: c.Allow.Env, Random: true, Clock: "fixed", State: true, Secrets: []string{"s"}, HTTP: []string{"https://a/"}}
			c.Limits = Limits{Memory: 1, Fuel: 1, Batch: 1, StateValue: 1, HTTPCalls: 1, HTTPBody: 1, OpenFiles: 1, Pool: Pool{Size: 1}, Result: 1, LogLine: 1, LogRate: 1, Grace: 1}
		}, []string{
			"command", "command", "allow.clock", "allow.random", "allow.state", "allow.secrets", "allow.http", "limits.memory", "limits.fuel",
			"limits.batch", "limits.state_value", "limits.http_calls", "limits.http_body", "limits.open_files", "limits.instance",
		}},
		"more limits": {func(c *Config) {
			c.Limits = Limits{Batch: -1, StateValue: MaxState + 1, HTTPCalls: MaxHTTPCalls + 1, HTTPBody: MaxHTTPBody + 1, OpenFiles: MaxOpenFiles + 1, Pool: Pool{Size: MaxPool + 1}}
		}, []string{"limits.batch", "limits.state_value", "limits.http_calls", "limits.http_body", "limits.open_files", "limits.instance"}},
		"bounds of jobs.toml": {func(c *Config) {
			c.Kind, c.Limits = Dataflow, Limits{Batch: 2 << 30, Result: 65 << 20, LogLine: 2 << 20, LogRate: 1_000_001}
		}, []string{"limits.batch", "limits.result", "limits.log_line", "limits.log_rate"}},
		"less than jobs.toml asks for": {func(c *Config) { c.Limits, c.Parallel = Limits{Memory: 1, LogLine: 1}, 0; c.Name = "" }, []string{"name"}},
		"limits of other kinds": {func(c *Config) {
			c.Kind, c.Retry.OnlyAsked, c.Limits = Script, true, Limits{Batch: 1, Pool: Pool{Size: 1}}
		}, []string{"retry.only_asked", "limits.batch", "limits.instance"}},
		"pool":          {func(c *Config) { c.Limits.Pool = Pool{MaxUses: 1} }, []string{"limits.instance"}},
		"secrets":       {func(c *Config) { c.Allow.Secrets = []string{"a", "", "a"} }, []string{"allow.secrets[1]", "allow.secrets[2]"}},
		"own variables": {func(c *Config) { c.Allow.Env = map[string]string{"WASMJOB_ITEM": "7"} }, []string{"allow.env"}},
		"env and clock": {func(c *Config) { c.Allow.Env = map[string]string{"A=": ""}; c.Allow.Clock = "now" }, []string{"allow.env", "allow.clock"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := valid()
			tt.change(&c)
			got := fields(t, c.Validate())
			slices.Sort(got)
			slices.Sort(tt.fields)
			if !slices.Equal(got, tt.fields) {
				t.Errorf("faults in %q, want %q", got, tt.fields)
			}
		})
	}
}

func fields(t *testing.T, err error) []string {
	t.Helper()
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("not a list of faults: %v", err)
	}
	var names []string
	for _, e := range joined.Unwrap() {
		var f *FieldError
		if !errors.As(e, &f) {
			t.Fatalf("not a FieldError: %v", e)
		}
		if f.Why.None() || len(f.Error()) > 2000 {
			t.Errorf("%s: bad text %q", f.Field, f.Error())
		}
		names = append(names, f.Field)
	}
	return names
}
