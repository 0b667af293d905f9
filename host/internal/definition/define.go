package definition

import (
	"cmp"
	"reflect"

	"github.com/wasmjob/wasmjob/host/job"
)

// Definition is a job as the registry holds it: ElasticJob's configuration and, beside
// the module, the settings that have no key in it.
type Definition struct {
	Config Config
	Module Module

	unsaid map[string]bool   // keys of config that the file does not set, so their values are defaults
	said   map[string]string // the same file's earlier values, as digests by key; nil if unknown
}

// New returns the definition of a job whose configuration is spelled as config. If the
// job does not give a module's digest, the definition has none; Merge finds it.
//
// Two settings of a job are in neither part: its layout, which the tree itself shows, and
// a command of the operating system. ElasticJob has a key for the command in config, but
// a server runs only a command that its own file names.
func New(j job.Config, config Config) Definition {
	d := Definition{Config: config, Module: Module{settings: settingsOf(&j)}, unsaid: map[string]bool{}}
	for _, name := range j.Unsaid {
		for s := range job.Settings() {
			if s.Name == name {
				d.unsaid[s.Key] = true
			}
		}
	}
	if config.Facts().Layout == job.Layout1 {
		d.keepInKeys()
	}
	if j.Module != "" {
		d.Module.Code = &Code{Name: j.Module, Digest: j.ModuleDigest}
	}
	if j.StrategyModule != "" {
		d.Module.Strategy = &Code{Name: j.StrategyModule, Digest: j.StrategyDigest}
	}
	return d
}

// keepInKeys removes from the module the settings that have keys in layout 1, since their
// values are in the configuration. One that the file leaves at zero counts as unsaid.
func (d *Definition) keepInKeys() {
	for s := range job.Settings() {
		if s.Key1 != "" {
			kept := reflect.ValueOf(s.Field(&d.Module.settings.Config)).Elem()
			d.unsaid[s.Key1] = kept.IsZero()
			kept.SetZero()
		}
	}
}

// Job converts a definition back to a job. file is the same job in the server's own file,
// or its zero value. If the registry has no module, the file's module is used.
func (d *Definition) Job(file job.Config) job.Config {
	facts := d.Config.Facts()
	j := job.Config{Name: facts.Name, Layout: facts.Layout, Command: file.Command, Unsaid: file.Unsaid}
	d.Module.settings.put(&j)
	j.Kind, j.Overlap, j.OnRegistryLoss = cmp.Or(j.Kind, job.Simple), cmp.Or(j.Overlap, job.Skip), cmp.Or(j.OnRegistryLoss, job.CancelOnLoss)
	j.Module, j.StrategyModule = file.Module, file.StrategyModule // their digests are not known yet
	if d.Module.Code != nil {
		j.Module, j.ModuleDigest = d.Module.Code.Name, d.Module.Code.Digest
	}
	if d.Module.Strategy != nil {
		j.StrategyModule, j.StrategyDigest = d.Module.Strategy.Name, d.Module.Strategy.Digest
	}
	j.Strategy = file.Strategy // the registry may hold another name of the same strategy
	return d.Config.Apply(j)
}

// AsJoined returns the job as it would be in force on a server that joins now, with the
// kind and, if set, the class of the server's own file. file is the job in that file, or
// nil; define turns it into a definition. Without file and module no server of ours can
// join.
func AsJoined(file *job.Config, define func(job.Config) Definition, config Config, module *Module) (job.Config, bool) {
	switch {
	case file != nil:
		j := *file
		// Usually registry and file agree, and a report needs this for thousands of jobs.
		if mine, there := sides(define(j), config, module); mine.agrees(&there) {
			j = there.Job(j)
		} else if merged, err := Merge(define(j), config, module); err == nil {
			j = merged.Job(j)
		}
		if j.Kind, j.Overwrite = file.Kind, file.Overwrite; file.Class != "" || file.Overwrite { // the registry's must not hide a difference
			j.Class = file.Class
		}
		return j, true
	case module != nil:
		d := Definition{Config: config, Module: *module}
		return d.Job(job.Config{}), true
	}
	return job.Config{}, false
}

// JobOf returns the registry's configuration of the job with that name, or nil if it
// cannot be read.
func JobOf(name string, c Config, m *Module) *job.Config {
	if c == nil {
		return nil
	}
	if m != nil {
		d := Definition{Config: c, Module: *m}
		j := d.Job(job.Config{})
		j.TimeZone = cmp.Or(j.TimeZone, "UTC") // servers of ours agree on it
		return &j
	}
	j := c.Apply(job.Config{Name: name})
	return &j
}

// Same reports whether two modules define the job alike. It ignores their bases.
func (m *Module) Same(o *Module) bool {
	a, b := *m, *o
	a.base, b.base = nil, nil
	return reflect.DeepEqual(a, b)
}

// StandsFor reports whether our servers have run the job in place of j's class. If config
// names another class now, that was written later. Our servers still join: otherwise the
// job would run nowhere after a restart of all servers.
func (m *Module) StandsFor(j job.Config) bool { return m != nil && m.settings.Class == j.Class }
