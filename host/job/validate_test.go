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
		"kind and layout": {func(c *Config) { c.Kind, c.Layout = "Simple", "3" }, []string{"kind", "layout"}},
		"dialect":         {func(c *Config) { c.Dialect = "cron" }, []string{"dialect"}},
		"texts":           {func(c *Config) { c.Param, c.Description = long, "\xff" }, []string{"param", "description"}},
		"skew":            {func(c *Config) { c.MaxClockSkew = 1500e6 }, []string{"max_clock_skew"}},
		"reconcile":       {func(c *Config) { c.ReconcileEvery = 90e9 }, []string{"reconcile_every"}},
		"reconcile back":  {func(c *Config) { c.ReconcileEvery = -60e9 }, []string{"reconcile_every"}},
		"for ever":        {func(c *Config) { c.ReconcileEvery = 1<<63 - 1; c.MaxClockSkew = 1<<63 - 1 }, []string{"max_clock_skew", "reconcile_every"}},
		"negative": {func(c *Config) {
			c.Timeout, c.Parallel = -1, -1
			c.Limits = Limits{Memory: -1, Result: -1, LogLine: -1, LogRate: -1, Grace: -1}
		}, []string{"timeout", "parallel", "limits.memory", "limits.result", "limits.log_line", "limits.log_rate", "limits.grace"}},
		"memory": {func(c *Config) { c.Limits.Memory = 5 << 30 }, []string{"limits.memory"}},
		"dirs": {func(c *Config) {
			c.Allow.Dirs = []Dir{{"/a", "in", false}, {"/a", "/in/../x", false}, {"", "/in", true}, {"/b", "/in", false}}
		}, []string{"allow.dirs[0]", "allow.dirs[1]", "allow.dirs[2]", "allow.dirs[2]", "allow.dirs[3]"}},
		"env and clock": {func(c *Config) { c.Allow.Env = map[string]string{"A=": ""}; c.Allow.Clock = "now" }, []string{"allow.env", "allow.clock"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := valid()
			tt.change(&c)
			if got := fields(t, c.Validate()); !slices.Equal(got, tt.fields) {
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
		if f.Msg == "" || len(f.Error()) > 2000 {
			t.Errorf("%s: bad text %q", f.Field, f.Error())
		}
		names = append(names, f.Field)
	}
	return names
}
