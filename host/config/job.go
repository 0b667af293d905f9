package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/strategy"
)

// defaultReconcile is what ElasticJob does.
const defaultReconcile = 10 * time.Minute

// job builds one job from the table at path, with [defaults] behind it.
func (b *builder) job(path, name string) {
	own := func(key string) string { return path + "." + key }
	both := func(key string) []string { return []string{own(key), "defaults." + key} }
	c := job.Config{
		Name:        name,
		Kind:        job.Kind(get(b, string(job.Simple), own("kind"))),
		Cron:        get(b, "", own("cron")),
		TimeZone:    get(b, "UTC", both("timezone")...),
		Dialect:     get(b, "quartz", both("dialect")...),
		Shards:      int(get(b, int64(1), own("shards"))),
		ItemParams:  get(b, "", own("item_params")),
		Param:       get(b, "", own("param")),
		Description: get(b, "", own("description")),

		Module:   get(b, "", own("module")),
		Strategy: get(b, "average", both("strategy")...),
		Class:    get(b, "", own("class")),

		Failover:         get(b, false, both("failover")...),
		Misfire:          get(b, true, both("misfire")...),
		MonitorExecution: get(b, true, both("monitor_execution")...),
		Disabled:         get(b, false, own("disabled")),
		// With a registry of its own the file is the only place where anybody
		// changes a job; in a shared one, others and consoles do, too.
		Overwrite: get(b, b.file.Registry.Kind == "embedded", both("overwrite")...),

		Overlap:        job.Overlap(get(b, string(job.Skip), both("overlap")...)),
		OnRegistryLoss: job.OnRegistryLoss(get(b, string(job.CancelOnLoss), both("on_registry_loss")...)),
		MaxClockSkew:   get(b, time.Duration(0), both("max_clock_skew")...),
		ReconcileEvery: get(b, defaultReconcile, both("reconcile_every")...),
		Timeout:        get(b, time.Duration(0), both("timeout")...),
		Parallel:       int(get(b, int64(0), both("parallel")...)),

		Settings: get(b, map[string]string(nil), own("config")),
		Limits: job.Limits{
			Memory:  get(b, int64(0), both("limits.memory")...),
			Result:  get(b, int64(0), both("limits.result")...),
			LogLine: get(b, int64(0), both("limits.log_line")...),
			LogRate: int(get(b, int64(0), both("limits.log_rate")...)),
			Grace:   get(b, time.Duration(0), both("limits.grace")...),
		},
		Allow:  b.grants(path),
		Layout: get(b, b.file.Registry.Layout, both("layout")...),
	}
	if c.MaxClockSkew == 0 {
		c.MaxClockSkew = -1 // in the file "off" is no check, in a job 0 is the strictest
	}
	b.schedule(path, c)
	b.moduleOf(path, c)
	b.itemParams(path, c)
	if _, err := strategy.Named(c.Strategy); err != nil {
		b.faultOf(path, "strategy", CodeValue, err.Error(), "")
	}
	b.validated(path, c)
	b.file.Jobs = append(b.file.Jobs, c)
}

// faultOf reports a fault of a key of a job that may have come from [defaults].
func (b *builder) faultOf(path, key string, code Code, message, hint string) {
	if !b.isSet(path+"."+key) && b.isSet("defaults."+key) {
		path = "defaults"
	}
	b.fault(path, key, "", code, message, hint)
}

// schedule checks when the job fires.
func (b *builder) schedule(path string, c job.Config) {
	cron, manual := path+".cron", path+".schedule"
	_, zone := Location(c.TimeZone)
	if zone != nil {
		b.faultOf(path, "timezone", CodeValue, zone.Error(), "")
	}
	switch {
	case b.isSet(cron) && b.isSet(manual):
		b.fault(path, "schedule", "", CodeConflict, "a job with a cron is not manual", "remove one of them")
		return
	case !b.isSet(cron) && !b.isSet(manual):
		b.fault(path, "", "", CodeMissing, "cron is missing", `write cron = "0 0 2 * * ?", or schedule = "manual" for a job that only a trigger runs`)
		return
	case !b.isSet(cron), b.values[cron].refused:
		return
	case strings.TrimSpace(c.Cron) == "":
		b.fault(path, "cron", "", CodeValue, "the cron is empty", `write schedule = "manual" for a job that only a trigger runs`)
		return
	}
	timezone := c.TimeZone
	if zone != nil {
		timezone = "" // its fault is no reason to be silent about the cron
	}
	if err := checkCron(c.Cron, c.Dialect, timezone); err != nil {
		b.fault(path, "cron", "", CodeValue, err.Error(), "")
	}
}

// moduleOf checks that the job names a module of the file.
func (b *builder) moduleOf(path string, c job.Config) {
	switch {
	case b.values[path+".module"].refused:
	case !b.isSet(path + ".module"):
		b.fault(path, "", "", CodeMissing, "module is missing", `write module = "<name>" and a table [modules.<name>]`)
	case b.named[joinKey("modules", c.Module)] == place{} && !b.broken:
		hint := "add [" + joinKey("modules", c.Module) + "]"
		var known []string
		for _, m := range b.file.Modules {
			known = append(known, m.Name)
		}
		if near := Nearest(c.Module, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		b.fault(path, "module", "", CodeReference, "there is no module "+strconv.Quote(c.Module), hint)
	}
}

// itemParams checks that every parameter belongs to an item.
func (b *builder) itemParams(path string, c job.Config) {
	params, err := job.ParseItemParams(c.ItemParams)
	if err != nil || b.values[path+".shards"].refused {
		return // Validate reports it
	}
	for _, item := range slices.Sorted(maps.Keys(params)) {
		if item < 0 || item >= c.Shards {
			sub := "." + strconv.Itoa(item)
			if _, table := b.values[path+".item_params"].inside[sub]; !table {
				sub = ""
			}
			b.fault(path, "item_params", sub, CodeReference, fmt.Sprintf("there is no item %d", item), b.itemsHint(path, c.Shards))
		}
	}
}

func (b *builder) itemsHint(path string, shards int) string {
	if !b.isSet(path + ".shards") {
		return "set shards; without it there is item 0 only"
	}
	return fmt.Sprintf("with shards = %d the items are 0 to %d", shards, shards-1)
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
			b.fault(path, "", "", CodeValue, "the name "+f.Msg, f.Hint)
		case b.values[path+"."+key].refused, b.faulty[path+"."+f.Field]:
			// The value in c is a stand-in, or the place has its problem.
		case sub != "":
			b.fault(path, key, sub, CodeValue, f.Msg, f.Hint)
		default:
			b.faultOf(path, key, CodeValue, f.Msg, f.Hint)
		}
	}
}
