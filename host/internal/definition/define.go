package definition

import (
	"cmp"
	"reflect"

	"github.com/wasmjob/wasmjob/host/job"
)

// Definition is a job as the registry holds it: in ElasticJob's configuration and, beside
// the module, the settings for which that has no key.
type Definition struct {
	Config Config
	Module Module

	unsaid map[string]bool   // keys of config whose values are defaults, which the file does not set
	said   map[string]string // the same file's earlier values, as digests by key; nil: not known
}

// New is the definition of a job whose configuration a layout spells as config. If the
// job does not give a module's digest, the definition has none; Merge finds it.
//
// Two settings of a job are in neither part: its layout, which the tree itself
// shows, and a command of the operating system. The command is in config, since
// ElasticJob has a key for it, but no server runs one that its own file does not
// name.
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

// keepInKeys takes out of the module what layout 1 has keys for.
func (d *Definition) keepInKeys() {
	for s := range job.Settings() {
		if s.Key1 != "" {
			kept := reflect.ValueOf(s.Field(&d.Module.settings.Config)).Elem()
			d.unsaid[s.Key1] = kept.IsZero()
			kept.SetZero()
		}
	}
}

// Job reads a definition back. file is the same job in the server's own file, or its
// zero value. The file's module counts if the registry has none.
func (d *Definition) Job(file job.Config) job.Config {
	facts := d.Config.Facts()
	j := job.Config{Name: facts.Name, Layout: facts.Layout, Command: file.Command, Unsaid: file.Unsaid}
	d.Module.settings.put(&j)
	j.Kind, j.Overlap, j.OnRegistryLoss = cmp.Or(j.Kind, job.Simple), cmp.Or(j.Overlap, job.Skip), cmp.Or(j.OnRegistryLoss, job.CancelOnLoss)
	j.Module, j.StrategyModule = file.Module, file.StrategyModule // whose digests are not known yet
	if d.Module.Code != nil {
		j.Module, j.ModuleDigest = d.Module.Code.Name, d.Module.Code.Digest
	}
	if d.Module.Strategy != nil {
		j.StrategyModule, j.StrategyDigest = d.Module.Strategy.Name, d.Module.Strategy.Digest
	}
	j.Strategy = file.Strategy // one of several names of the same
	return d.Config.Apply(j)
}

// AsJoined is the job as it would be in force on a server that joins it now, with the
// kind and, if it has one, the class of that server's own file. file is the job in that
// file, or nil; define turns it into a definition. Without file and module no server of
// ours can join.
func AsJoined(file *job.Config, define func(job.Config) Definition, config Config, module *Module) (job.Config, bool) {
	switch {
	case file != nil:
		j := *file
		// Usually the registry agrees, and a report asks for thousands of jobs.
		if mine, there := sides(define(j), config, module); mine.agrees(&there) {
			j = there.Job(j)
		} else if merged, err := Merge(define(j), config, module); err == nil {
			j = merged.Job(j)
		}
		if j.Kind, j.Overwrite = file.Kind, file.Overwrite; file.Class != "" || file.Overwrite {
			j.Class = file.Class
		}
		return j, true
	case module != nil:
		d := Definition{Config: config, Module: *module}
		return d.Job(job.Config{}), true
	}
	return job.Config{}, false
}

// JobOf is the registry's configuration of the job with that name; nil if it cannot be
// read.
func JobOf(name string, c Config, m *Module) *job.Config {
	if c == nil {
		return nil
	}
	if m != nil {
		d := Definition{Config: c, Module: *m}
		j := d.Job(job.Config{})
		j.TimeZone = cmp.Or(j.TimeZone, "UTC") // members of ours agree on it
		return &j
	}
	j := c.Apply(job.Config{Name: name})
	return &j
}

// Same reports whether two modules define the job alike. It ignores what was applied
// before.
func (m *Module) Same(o *Module) bool {
	a, b := *m, *o
	a.base, b.base = nil, nil
	return reflect.DeepEqual(a, b)
}

// StandsFor reports whether servers of ours have run the job in place of the class that
// j stands in for. If config names another class now, it was written since. Servers of
// ours still join: otherwise the job would run nowhere after they all had restarted.
func (m *Module) StandsFor(j job.Config) bool { return m != nil && m.settings.Class == j.Class }
