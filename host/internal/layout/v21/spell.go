package v21

import (
	"bytes"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// text is a part of a job's definition: the value of its node.
type text []byte

// Text is a part of a definition by its text.
func Text(data []byte) protocol.Spelled { return text(data) }

// Same implements protocol.Spelled.
func (t text) Same(as protocol.Spelled) bool { return bytes.Equal(t, bytesOf(as)) }

func (t text) String() string { return string(t) }

// spelled is what a node holds; nil if it is not there.
func spelled(data []byte) protocol.Spelled {
	if data == nil {
		return nil
	}
	return text(data)
}

func bytesOf(part protocol.Spelled) []byte {
	t, _ := part.(text)
	return t
}

// Define is the definition of a job.
func (Job) Define(c job.Config) definition.Definition { return definition.New(c, FromJob(c)) }

// Defined is what a view says of the job. Either is nil if it cannot be read, of
// which the view's faults tell, or is not there.
func (Job) Defined(v *protocol.View) (config definition.Config, module *definition.Module) {
	if c, err := DecodeConfig(bytesOf(v.Definition.Config)); v.ConfigFault == "" && err == nil && c != nil {
		config = *c
	}
	if v.Dirs.Module {
		if m, err := ModuleOf(v); err == nil {
			module = &m
		}
	}
	return config, module
}

// ModuleOf is what a view says of the job's module.
func ModuleOf(v *protocol.View) (definition.Module, error) {
	return definition.DecodeModule(bytesOf(v.Definition.Module))
}

// Spell is the definition as the registry is to hold it. What the registry has, in
// old, stays as it is written, but for the values that are to be others.
func (Job) Spell(old protocol.Definition, d definition.Definition) (protocol.Definition, error) {
	var spelled protocol.Definition
	config := d.Config.(Config)
	data, err := UpdateConfig(bytesOf(old.Config), &config)
	if err != nil {
		return protocol.Definition{}, err
	}
	if old.Config == nil {
		data = slices.Clone(data) // it is kept, and has room to spare
	}
	spelled.Config = text(data)
	if spelled.Module, err = SpellModule(d.Module); err != nil || old.Module == nil {
		return spelled, err
	}
	if there, err := definition.DecodeModule(bytesOf(old.Module)); err == nil {
		if same, err := definition.EncodeModule(there); err == nil && spelled.Module.Same(text(same)) {
			spelled.Module = old.Module // however it is written
		}
	}
	return spelled, nil
}

// SpellModule is the module's part of a definition as the registry is to hold it.
func SpellModule(m definition.Module) (protocol.Spelled, error) {
	data, err := definition.EncodeModule(m)
	if err != nil {
		return nil, err
	}
	return text(data), nil
}
