package layout

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Definition is a job as the registry holds it: in ElasticJob's config, and in
// wasm/module what that has no key for.
type Definition struct {
	Config Config21
	Module Module

	unsaid map[string]bool   // keys of config that stand in only for want of a word
	said   map[string]string // what the same file said before, as digests by key; nil: not known
}

// Define spells a job. A module whose digest the job does not say is named
// without it; Merge finds out.
//
// Two settings of a job are in neither node: its layout, which the tree itself
// shows, and a command of the operating system. The command is in config, since
// ElasticJob has a key for it, but no server runs one that its own file does not
// name.
func Define(j job.Config) Definition {
	d := Definition{Config: FromJob(j), Module: Module{settings: settingsOf(&j)}, unsaid: map[string]bool{}}
	for _, name := range j.Unsaid {
		for s := range job.Settings() {
			if s.Name == name {
				d.unsaid[s.Key] = true
			}
		}
	}
	if j.Module != "" {
		d.Module.Code = &Code{Name: j.Module, Digest: j.ModuleDigest}
	}
	if j.StrategyModule != "" {
		d.Module.Strategy = &Code{Name: j.StrategyModule, Digest: j.StrategyDigest}
	}
	return d
}

// Job reads a definition back. file is the same job in the server's own file;
// its zero value where there is none. The file's word for a module stands if the
// registry has none.
func (d *Definition) Job(file job.Config) job.Config {
	j := job.Config{Name: d.Config.JobName, Layout: job.Layout21, Command: file.Command, Unsaid: file.Unsaid}
	d.Module.settings.put(&j)
	j.Kind, j.Overlap, j.OnRegistryLoss = cmp.Or(j.Kind, job.Simple), cmp.Or(j.Overlap, job.Skip), cmp.Or(j.OnRegistryLoss, job.CancelOnLoss)
	j.Module, j.StrategyModule = file.Module, file.StrategyModule // of these nobody knows the digest yet
	if d.Module.Code != nil {
		j.Module, j.ModuleDigest = d.Module.Code.Name, d.Module.Code.Digest
	}
	if d.Module.Strategy != nil {
		j.StrategyModule, j.StrategyDigest = d.Module.Strategy.Name, d.Module.Strategy.Digest
	}
	j.Strategy = file.Strategy // one of several names of the same
	return d.Config.Apply(j)
}

// AsJoined is the job as it would be in force on a server that joins it now, with
// what that server's own file says of its kind and, if it names one, its class. file is the job in that
// file; nil if it is not there. Without file and module no server of ours can
// join it.
func AsJoined(file *job.Config, config *Config21, module *Module) (job.Config, bool) {
	switch {
	case file != nil:
		j := *file
		// Mostly the registry agrees, and reports ask for thousands of jobs.
		if mine, there := sides(Define(j), config, module); mine.agrees(&there) {
			j = there.Job(j)
		} else if merged, err := Merge(Define(j), config, module); err == nil {
			j = merged.Job(j)
		}
		if j.Kind, j.Overwrite = file.Kind, file.Overwrite; file.Class != "" || file.Overwrite {
			j.Class = file.Class
		}
		return j, true
	case module != nil:
		d := Definition{Config: *config, Module: *module}
		return d.Job(job.Config{}), true
	}
	return job.Config{}, false
}

// Same tells whether the two say the same of the job, whatever was applied
// before.
func (m *Module) Same(o *Module) bool {
	a, b := *m, *o
	a.base, b.base = nil, nil
	return reflect.DeepEqual(a, b)
}

// Nodes are where a job's definition is, and the members from whom its modules
// may be had.
func (j Job) Nodes() (config, module, members string) {
	return j.at(nodeConfig), j.at(nodeModule), j.at(nodeMembers)
}

// ReadDefinition reads both nodes of a job, which are there. What it says of one
// that cannot be read names its path and what was expected.
func (j Job) ReadDefinition(config, module registry.Node) (Definition, error) {
	var d Definition
	c, err := DecodeConfig21(config.Data)
	if err == nil && len(config.Children) > 0 {
		err = errLayout
	}
	if err == nil && c == nil {
		err = errors.New("the node is empty")
	}
	if err != nil {
		return d, fmt.Errorf("%s: %w", j.at(nodeConfig), expected("a configuration", err))
	}
	m, err := DecodeModule(module.Data)
	if err != nil {
		return d, fmt.Errorf("%s: %w", j.at(nodeModule), expected("a module", err))
	}
	if name := j.name(); c.JobName != name {
		return d, fmt.Errorf("%s: expected the job %q, it is that of %.200q", j.at(nodeConfig), name, c.JobName)
	}
	return Definition{Config: *c, Module: m}, nil
}

// PeerAddress is where a member's server gives modules to others, by the value
// of its node; empty: nowhere.
func PeerAddress(member registry.Node) string {
	if !member.Exists {
		return ""
	}
	return decodeMember(member.Data).Address
}
