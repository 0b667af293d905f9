package config

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/strategy"
)

// jobKeys finds the keys of one job: its own, or those of [defaults].
type jobKeys struct {
	*builder
	path    string // of the job's table
	kind    job.Kind
	command bool // command is set, even if to an invalid value
}

// keysOf returns the keys of the job whose table is at path.
func (b *builder) keysOf(path string) jobKeys {
	return jobKeys{b, path, job.Kind(get(b, string(job.Simple), path+".kind")), b.isSet(path + ".command")}
}

// own returns the path of a setting in the job's own table.
func (k jobKeys) own(name string) string { return k.path + "." + name }

// places returns the paths at which the file may have a setting of the job. A job inherits no
// settings of other kinds of jobs.
func (k jobKeys) places(s *job.Setting) []string {
	if !s.Inherits || !s.Misplaced(k.kind, k.command).None() {
		return []string{k.own(s.Name)}
	}
	return []string{k.own(s.Name), "defaults." + s.Name}
}

// set sets the field of c for a setting to the file's value, or to the default. A zero value stays
// as it is.
func (k jobKeys) set(s *job.Setting, c *job.Config) {
	is := s.Default
	for _, path := range k.places(s) {
		if v := k.values[path]; v.is != nil && !v.refused {
			is = v.is
			break
		}
	}
	if s.Negative && is == time.Duration(0) { // convert returns 0 for the word "off"
		is = time.Duration(-1)
	}
	if is == nil || is == s.Zero {
		return
	}
	field := reflect.ValueOf(s.Field(c)).Elem()
	if v := reflect.ValueOf(is); v.CanConvert(field.Type()) {
		field.Set(v.Convert(field.Type()))
	}
}

// job reads the table of a job at path.
func (b *builder) job(path, name string) {
	k := b.keysOf(path)
	// With an embedded registry only this file changes a job. In a shared registry, other
	// servers and consoles do as well.
	c := job.Config{Name: name, Overwrite: b.file.Registry.Kind == Embedded, Layout: b.file.Registry.Layout}
	before := len(b.problems)
	for s := range job.Settings() {
		k.set(&s, &c)
	}
	b.grants(path, &c.Allow)
	b.except(path, &c)
	c.Unsaid = k.unsaid()
	k.misplaced()
	b.monitorPort(path, c)
	b.schedule(path, c)
	b.code(path, c)
	b.itemParams(path, c)
	b.notified(path, c)
	if _, err := strategy.Named(c.Strategy); err != nil {
		b.faultOf(path, "strategy", reason.Of(reason.StrategyRefused, err.Error()))
	}
	b.validated(path, c)
	if clustertree.Reserved(name) {
		b.fault(path, "", "", reason.Of(reason.NameUnusable, strconv.Quote(name), "ends in "+clustertree.Suffix+", as the state of a cluster does"))
	}
	if err := layout.Check(c); err != nil && len(b.problems) == before { // else it may be a consequence of what is found
		b.fault(path, "", "", reason.Of(reason.LayoutUnwritable, err.Error()))
	}
	b.file.Jobs = append(b.file.Jobs, c)
}

// unsaid returns the settings that yield to the registry because neither the job nor [defaults]
// sets them.
func (k jobKeys) unsaid() []string {
	var names []string
	for s := range job.Settings() {
		if s.Yields && !k.isSet(k.own(s.Name)) && !k.isSet("defaults."+s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// monitorPort checks that no job before c in the file has the same port.
func (b *builder) monitorPort(path string, c job.Config) {
	for _, other := range b.file.Jobs {
		if c.MonitorPort != 0 && other.MonitorPort == c.MonitorPort {
			b.fault(path, "monitor_port", "", reason.Of(reason.PortTaken, other.Name))
			return
		}
	}
}

// faultOf reports a fault of a job's key, which [defaults] may have set.
func (b *builder) faultOf(path, key string, why reason.Reason) {
	if !b.isSet(path+"."+key) && b.isSet("defaults."+key) {
		path = "defaults"
	}
	b.fault(path, key, "", why)
}

// schedule checks what says when the job fires: exactly one of the keys cron, schedule and after.
func (b *builder) schedule(path string, c job.Config) {
	cron, manual := path+".cron", path+".schedule"
	_, zone := Location(c.TimeZone)
	if zone != nil {
		b.faultOf(path, "timezone", reason.Of(reason.ZoneUnknown, zone.Error()))
	}
	switch {
	case b.isSet(path + ".after"):
		for _, key := range []string{"cron", "schedule"} {
			if b.isSet(path + "." + key) {
				b.fault(path, key, "", reason.Of(reason.CronOfAfter))
			}
		}
		if v := b.values[path+".after"]; !v.refused && len(c.After) == 0 {
			b.fault(path, "after", "", reason.Of(reason.AfterEmpty))
		}
		return
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
	if zone != nil {
		c.TimeZone = "" // the zone is reported above; report the cron's own faults as well
	}
	if err := checkCron(c); err != nil {
		b.fault(path, "cron", "", reason.Of(reason.CronRefused, err.Error()))
	}
}

// misplaced reports keys that belong to other kinds of jobs.
func (k jobKeys) misplaced() {
	if k.values[k.own("kind")].refused {
		return
	}
	for s := range job.Settings() {
		if own := k.own(s.Name); !k.isSet(own) || k.values[own].refused {
			continue
		}
		if why := s.Misplaced(k.kind, k.command); !why.None() {
			k.fault(k.path, s.Name, "", why)
		}
	}
}

// code checks that the job has a module or a command, and that the modules that it names are in
// the file.
func (b *builder) code(path string, c job.Config) {
	b.lay(path, "module", "strategy_module", "command")
	switch {
	case b.isSet(path + ".command"):
		b.command(path, c)
	case b.values[path+".module"].refused: // already reported
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

// lay keeps the places of a job's keys for problems that are found when its code is loaded.
func (b *builder) lay(path string, keys ...string) {
	for _, key := range keys {
		if at := cmp.Or(b.values[path+"."+key].at, b.values["defaults."+key].at); at.file != "" {
			b.laid[path+"."+key] = at
		}
	}
}

// command checks whether the job may have a command. Package job checks the command line.
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

// moduleOf checks that a key of a job, with the value name, names a module of the file. If a file
// could not be read, the module may be there.
func (b *builder) moduleOf(path, key, name string) {
	if b.named[joinKey("modules", name)] != (place{}) || b.broken {
		return
	}
	var known []string
	for _, m := range b.file.Modules {
		known = append(known, m.Name)
	}
	b.faultOf(path, key, meantOr(name, known, reason.ModuleMeant, reason.Of(reason.ModuleUnknown, strconv.Quote(name), joinKey("modules", name))))
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
		if item < 0 || item >= c.Shards { // sub is its place in a table; a text has none
			sub := "." + strconv.Itoa(item)
			if _, table := b.values[path+".item_params"].inside[sub]; !table {
				sub = ""
			}
			b.fault(path, "item_params", sub, b.noItem(path, item, c.Shards))
		}
	}
}

// doubledItem finds an item that occurs twice in a valid text of item parameters. It parses each
// pair alone, since ParseItemParams keeps the last of two without a fault.
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

// noItem is the fault of a parameter for an item that the job does not have.
func (b *builder) noItem(path string, item, shards int) reason.Reason {
	if !b.isSet(path + ".shards") {
		return reason.Of(reason.ItemWithoutShards, strconv.Itoa(item))
	}
	return reason.Of(reason.ItemUnknown, strconv.Itoa(item), strconv.Itoa(shards), strconv.Itoa(shards-1))
}

// validated reports the faults that Validate finds in a job, at the keys that have them.
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
			// c has a substitute for the value, or the place already has a problem.
		case b.values[path+".kind"].refused && ofSomeKind(key):
			// The intended kind of the job is not known.
		case sub != "":
			b.fault(path, key, sub, f.Why)
		default:
			b.faultOf(path, key, f.Why)
		}
	}
}

// ofSomeKind reports whether only some kinds of jobs have the setting.
func ofSomeKind(name string) bool {
	for s := range job.Settings() {
		if s.Name == name {
			return len(s.Kinds) > 0
		}
	}
	return false
}
