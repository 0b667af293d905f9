package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// Define returns the definition of a job.
func (j Job) Define(c job.Config) definition.Definition {
	return definition.New(c, j.dialect.FromJob(c))
}

// Defined returns the job's definition in a view. A part is nil if it is missing or cannot
// be read; the view's faults tell which.
func (j Job) Defined(v *protocol.View) (config definition.Config, module *definition.Module) {
	if c, err := j.dialect.Parse(spelling.Bytes(v.Definition.Config)); v.ConfigFault == "" && err == nil {
		config = c
	}
	if v.HasModule {
		if m, err := spelling.ModuleOf(v); err == nil {
			module = &m
		}
	}
	return config, module
}

// Spell returns the definition as the registry will hold it. Only values that differ from
// old, which the registry holds, are rewritten: a module that is written differently, and
// means the same, stays as it is.
func (j Job) Spell(old protocol.Definition, d definition.Definition) (protocol.Definition, error) {
	var spelled protocol.Definition
	data, err := j.dialect.Update(spelling.Bytes(old.Config), d.Config)
	if err != nil {
		return protocol.Definition{}, err
	}
	if old.Config == nil {
		data = slices.Clone(data) // data is kept, and may have spare capacity
	}
	spelled.Config = spelling.Text(data)
	if spelled.Module, err = spelling.SpellModule(d.Module); err != nil || old.Module == nil {
		return spelled, err
	}
	if there, err := definition.DecodeModule(spelling.Bytes(old.Module)); err == nil {
		if same, err := definition.EncodeModule(there); err == nil && spelled.Module.Same(spelling.Text(same)) {
			spelled.Module = old.Module // even if it is written differently
		}
	}
	return spelled, nil
}
