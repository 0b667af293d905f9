package jobtree

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Nodes are where a job's definition is, and the members from whom its modules
// may be had.
func (j Job) Nodes() (config, module, members string) {
	return j.at(NodeConfig), j.at(NodeModule), j.at(NodeMembers)
}

// ReadDefinition reads both nodes of a job, which are there. What it says of one
// that cannot be read names its path and what was expected.
func (j Job) ReadDefinition(config, module registry.Node) (definition.Definition, error) {
	var d definition.Definition
	c, err := j.parse(config)
	if err != nil {
		return d, fmt.Errorf("%s: %w", j.at(NodeConfig), err)
	}
	m, err := definition.DecodeModule(module.Data)
	if err != nil {
		return d, fmt.Errorf("%s: %w", j.at(NodeModule), expected("a module", err))
	}
	if err := j.named(c); err != nil {
		return d, fmt.Errorf("%s: %w", j.at(NodeConfig), err)
	}
	return definition.Definition{Config: c, Module: m}, nil
}
