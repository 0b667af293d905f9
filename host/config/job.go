package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/nearest"
	"github.com/wasmjob/wasmjob/strategy"
)

// defaultReconcile is what ElasticJob does.
const defaultReconcile = 10 * time.Minute

// jobKeys finds the keys of one job: its own, or those of [defaults].
type jobKeys struct {
	*builder
	path    string
	kind    job.Kind
	command bool // it has a command, or was meant to
}

func (b *builder) keysOf(path string) jobKeys {
	return jobKeys{b, path, job.Kind(get(b, string(job.Simple), path+".kind")), b.isSet(path + ".command")}
}

func (k jobKeys) own(name string) string { return k.path + "." + name }

// both are the places of a key that may be inherited. A job inherits nothing
// that belongs to others.
func (k jobKeys) both(name string) []string {
	n := k.schema.child("defaults")
	for part := range strings.SplitSeq(name, ".") {
		n = n.child(part)
	}
	if !n.key.belongs(k.kind, k.command) {
		return []string{k.own(name)}
	}
	return []string{k.own(name), "defaults." + name}
}

// job builds one job from the table at path, with [defaults] behind it.
func (b *builder) job(path, name string) {
	k := b.keysOf(path)
	own, both := k.own, k.both
	c := job.Config{
		Name:        name,
		Kind:        k.kind,
		Cron:        get(b, "", own("cron")),
		TimeZone:    get(b, "", both("timezone")...),
		Dialect:     get(b, "quartz", both("dialect")...),
		Shards:      int(get(b, int64(1), own("shards"))),
		ItemParams:  get(b, "", own("item_params")),
		Param:       get(b, "", own("param")),
		Description: get(b, "", own("description")),

		Module:          get(b, "", own("module")),
		Strategy:        get(b, "average", both("strategy")...),
		StrategyModule:  get(b, "", both("strategy_module")...),
		OnStrategyError: job.OnStrategyError(get(b, "", both("strategy_error")...)),
		Class:           get(b, "", own("class")),

		Failover:         get(b, false, both("failover")...),
		Misfire:          get(b, true, both("misfire")...),
		MonitorExecution: get(b, true, both("monitor_execution")...),
		MonitorPort:      int(get(b, int64(0), own("monitor_port"))),
		Disabled:         get(b, false, own("disabled")),
		// With a registry of its own the file is the only place where anybody
		// changes a job; in a shared one, others and consoles do, too.
		Overwrite: get(b, b.file.Registry.Kind == "embedded", both("overwrite")...),

		CatchUp:        job.CatchUp(strings.TrimPrefix(get(b, "", both("catch_up")...), "none")),
		Overlap:        job.Overlap(get(b, string(job.Skip), both("overlap")...)),
		OnRegistryLoss: job.OnRegistryLoss(get(b, string(job.CancelOnLoss), both("on_registry_loss")...)),
		MaxClockSkew:   get(b, time.Duration(0), both("max_clock_skew")...),
		ReconcileEvery: get(b, defaultReconcile, both("reconcile_every")...),
		Timeout:        get(b, time.Duration(0), both("timeout")...),
		Parallel:       int(get(b, int64(0), both("parallel")...)),

		Retry: job.Retry{
			Attempts:   int(get(b, int64(0), both("retry.attempts")...)),
			Backoff:    get(b, time.Duration(0), both("retry.backoff")...),
			MaxBackoff: get(b, time.Duration(0), both("retry.max_backoff")...),
			OnlyAsked:  get(b, false, own("retry.only_asked")),
		},

		Streaming:   get(b, false, own("streaming")),
		FetchCount:  int(get(b, int64(0), own("fetch_count"))),
		Concurrency: int(get(b, int64(0), own("concurrency"))),
		Args:        get(b, []string(nil), own("args")),
		Command:     get(b, "", own("command")),

		Settings: get(b, map[string]string(nil), own("config")),
		Limits:   k.limits(),
		Allow:    b.grants(path),
		Layout:   get(b, b.file.Registry.Layout, both("layout")...),
	}
	c.Unsaid = k.unsaid()
	if c.MaxClockSkew == 0 {
		c.MaxClockSkew = -1 // in the file "off" is no check, in a job 0 is the strictest
	}
	k.misplaced()
	b.monitorPort(path, c)
	b.schedule(path, c)
	b.code(path, c)
	b.itemParams(path, c)
	if _, err := strategy.Named(c.Strategy); err != nil {
		b.faultOf(path, "strategy", reason.Of(reason.StrategyRefused, err.Error()))
	}
	b.validated(path, c)
	b.file.Jobs = append(b.file.Jobs, c)
}

// unsaid are the keys in which a job that somebody else has defined is followed
// without a word: neither the job nor [defaults] says anything.
func (k jobKeys) unsaid() []string {
	var names []string
	for _, name := range []string{
		"shards", "item_params", "param", "description", "strategy", "failover", "misfire", "monitor_execution",
		"disabled", "overwrite", "max_clock_skew", "reconcile_every", "streaming",
	} {
		if !k.isSet(k.own(name)) && !k.isSet("defaults."+name) {
			names = append(names, name)
		}
	}
	return names
}

// monitorPort checks that no two jobs have the same.
func (b *builder) monitorPort(path string, c job.Config) {
	for _, other := range b.file.Jobs {
		if c.MonitorPort != 0 && other.MonitorPort == c.MonitorPort {
			b.fault(path, "monitor_port", "", reason.Of(reason.PortTaken, other.Name))
			return
		}
	}
}

// faultOf reports a fault of a key of a job that may have come from [defaults].
func (b *builder) faultOf(path, key string, why reason.Reason) {
	if !b.isSet(path+"."+key) && b.isSet("defaults."+key) {
		path = "defaults"
	}
	b.fault(path, key, "", why)
}

// schedule checks when the job fires.
func (b *builder) schedule(path string, c job.Config) {
	cron, manual := path+".cron", path+".schedule"
	_, zone := Location(c.TimeZone)
	if zone != nil {
		b.faultOf(path, "timezone", reason.Of(reason.ZoneUnknown, zone.Error()))
	}
	switch {
	case b.isSet(cron) && b.isSet(manual):
		b.fault(path, "schedule", "", reason.Of(reason.CronOfManual))
		return
	case !b.isSet(cron) && !b.isSet(manual):
		b.fault(path, "", "", reason.Of(reason.CronMissing))
		return
	case !b.isSet(cron), b.values[cron].refused:
		return
	case strings.TrimSpace(c.Cron) == "":
		b.fault(path, "cron", "", reason.Of(reason.CronEmpty))
		return
	}
	timezone := c.TimeZone
	if zone != nil {
		timezone = "" // its fault is no reason to be silent about the cron
	}
	if err := checkCron(c.Cron, c.Dialect, timezone); err != nil {
		b.fault(path, "cron", "", reason.Of(reason.CronRefused, err.Error()))
	}
}

// limits are those of one run.
func (k jobKeys) limits() job.Limits {
	b, both := k.builder, func(name string) []string { return k.both("limits." + name) }
	return job.Limits{
		Memory:     get(b, int64(0), both("memory")...),
		Fuel:       get(b, int64(0), both("fuel")...),
		Result:     get(b, int64(0), both("result")...),
		LogLine:    get(b, int64(0), both("log_line")...),
		LogRate:    int(get(b, int64(0), both("log_rate")...)),
		Grace:      get(b, time.Duration(0), both("grace")...),
		Batch:      get(b, int64(0), both("batch")...),
		StateValue: get(b, int64(0), both("state_value")...),
		HTTPCalls:  int(get(b, int64(0), both("http_calls")...)),
		HTTPBody:   get(b, int64(0), both("http_body")...),
		OpenFiles:  int(get(b, int64(0), both("open_files")...)),
		Pool:       get(b, job.Pool{}, both("instance")...),
	}
}

// misplaced reports keys that belong to jobs of another kind.
func (k jobKeys) misplaced() {
	if k.values[k.own("kind")].refused {
		return
	}
	for _, key := range k.keys {
		name, ofJob := strings.CutPrefix(key.path, "jobs.*.")
		if !ofJob || !k.isSet(k.own(name)) || k.values[k.own(name)].refused || key.belongs(k.kind, k.command) {
			continue
		}
		if slices.Contains(key.kinds, k.kind) || len(key.kinds) == 0 {
			k.fault(k.path, name, "", reason.Of(reason.KeyOfSandbox))
			continue
		}
		var kinds []string
		for _, kind := range key.kinds {
			kinds = append(kinds, string(kind))
		}
		k.fault(k.path, name, "", reason.Of(reason.KeyOfOtherKind, strings.Join(kinds, " or "), strconv.Quote(kinds[0])))
	}
}

// code checks what the job runs: a module of the file, or a command.
func (b *builder) code(path string, c job.Config) {
	switch {
	case b.isSet(path + ".command"):
		b.command(path, c)
	case b.values[path+".module"].refused:
	case !b.isSet(path + ".module"):
		b.fault(path, "", "", reason.Of(reason.ModuleMissing))
	default:
		b.moduleOf(path, "module", c.Module)
	}
	switch {
	case c.StrategyModule != "":
		b.moduleOf(path, "strategy_module", c.StrategyModule)
	case b.isSet(path+".strategy_error") && !b.isSet(path+".strategy_module") && !b.isSet("defaults.strategy_module"):
		b.fault(path, "strategy_error", "", reason.Of(reason.StrategyErrorAlone))
	}
}

// command checks whether the job may have a command; what it says is checked by
// the job itself.
func (b *builder) command(path string, c job.Config) {
	v := b.values[path+".command"]
	switch {
	case v.refused:
	case strings.TrimSpace(c.Command) == "":
		b.fault(path, "command", "", reason.Of(reason.CommandEmpty))
	case !b.file.Host.NativeScripts && !b.values["host.allow_native_scripts"].refused:
		b.fault(path, "command", "", reason.Of(reason.CommandsNotAllowed))
	}
}

// moduleOf checks that a key names a module of the file.
func (b *builder) moduleOf(path, key, name string) {
	if b.named[joinKey("modules", name)] != (place{}) || b.broken {
		return
	}
	var known []string
	for _, m := range b.file.Modules {
		known = append(known, m.Name)
	}
	why := reason.Of(reason.ModuleUnknown, strconv.Quote(name), joinKey("modules", name))
	if near := nearest.To(name, known); near != "" {
		why = reason.Of(reason.ModuleMeant, strconv.Quote(name), strconv.Quote(near))
	}
	b.faultOf(path, key, why)
}

// itemParams checks that every parameter belongs to an item.
func (b *builder) itemParams(path string, c job.Config) {
	params, err := job.ParseItemParams(c.ItemParams)
	if err != nil || b.values[path+".shards"].refused {
		return // Validate reports it
	}
	if item, twice := doubledItem(c.ItemParams); twice {
		b.fault(path, "item_params", "", reason.Of(reason.ItemTwice, strconv.Itoa(item)))
	}
	for _, item := range slices.Sorted(maps.Keys(params)) {
		if item < 0 || item >= c.Shards {
			sub := "." + strconv.Itoa(item)
			if _, table := b.values[path+".item_params"].inside[sub]; !table {
				sub = ""
			}
			b.fault(path, "item_params", sub, b.noItem(path, item, c.Shards))
		}
	}
}

// doubledItem finds an item that a valid text of item parameters names twice.
func doubledItem(text string) (item int, twice bool) {
	seen := map[int]bool{}
	for pair := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		one, err := job.ParseItemParams(pair)
		if err != nil {
			return 0, false
		}
		for item := range one {
			if seen[item] {
				return item, true
			}
			seen[item] = true
		}
	}
	return 0, false
}

func (b *builder) noItem(path string, item, shards int) reason.Reason {
	if !b.isSet(path + ".shards") {
		return reason.Of(reason.ItemWithoutShards, strconv.Itoa(item))
	}
	return reason.Of(reason.ItemUnknown, strconv.Itoa(item), strconv.Itoa(shards), strconv.Itoa(shards-1))
}

// validated adds what the job itself says is wrong with it.
func (b *builder) validated(path string, c job.Config) {
	err := c.Validate()
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		var f *job.FieldError
		if !errors.As(err, &f) {
			continue
		}
		key, sub := f.Field, ""
		if i := strings.IndexByte(key, '['); i >= 0 {
			key, sub = key[:i], key[i:]
		}
		switch {
		case key == "name":
			b.fault(path, "", "", f.Why)
		case b.values[path+"."+key].refused, b.faulty[path+"."+f.Field], b.faulty[path+"."+key]:
			// The value in c is a stand-in, or the place has its problem.
		case b.values[path+".kind"].refused && ofSomeKind(b.keys, key):
			// Of what kind the job is meant to be is not known.
		case sub != "":
			b.fault(path, key, sub, f.Why)
		default:
			b.faultOf(path, key, f.Why)
		}
	}
}

// ofSomeKind reports whether only some kinds of jobs have the key.
func ofSomeKind(keys []key, name string) bool {
	return slices.ContainsFunc(keys, func(k key) bool { return k.path == "jobs.*."+name && len(k.kinds) > 0 })
}
