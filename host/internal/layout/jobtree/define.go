package jobtree

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Nodes returns the nodes of a job's definition, and of the members that offer its modules.
func (j Job) Nodes() (config, module, members string) {
	return j.at(NodeConfig), j.at(NodeModule), j.at(NodeMembers)
}

// ReadDefinition reads the nodes of a job's configuration, of which config exists, and that
// of its module. If one cannot be read, the error names its path and what was expected.
func (j Job) ReadDefinition(in Kept, module registry.Node) (definition.Definition, error) {
	var d definition.Definition
	if err := j.rootFault(in.Root); err != nil {
		return d, fmt.Errorf("%s: %w", j.root, err)
	}
	in.Name = j.name()
	c, err := j.parse(in)
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

// setup creates the nodes above those of members and, if the job has no configuration, its
// definition.
func (t *transaction) setup(m protocol.Setup) {
	if !t.v.Exists {
		t.create(t.root, "")
	}
	if t.v.Config == nil {
		t.noRemoval("setup/removal")
		t.ops = append(t.ops, t.dialect.CreateConfig(t.Job, m.Config)...)
	}
	t.makeParents(NodeLeader, NodeElection, NodeLatch, NodeLeaderSharding, NodeServers, NodeInstances, NodeWasm, NodeMembers, NodeRuns)
	if t.byAddress() {
		t.makeParents(NodeSharding) // it shows the layout before the first member comes
	}
	if t.v.Config == nil && m.Module != nil && !t.v.HasModule {
		t.op(registry.Create, t.at(NodeModule), spelling.Bytes(m.Module), 0)
	}
	if !t.v.Parents.Assignment {
		t.op(registry.Create, t.at(NodeAssignment), spelling.EncodeAssignment(&protocol.Assignment{}), 0)
	}
}

// noRemoval checks that no removal has begun since the view, whose rest would become part
// of the job.
func (t *transaction) noRemoval(fence string) {
	if has(t.v, NodeWasm) { // otherwise this transaction creates the node
		t.fenced(fence, registry.Op{Kind: registry.Absent, Path: t.at(NodeRemoval)})
	}
}

// define sets the configuration, the module, or both. It checks the version of the one that
// stays, because the change was derived from both.
func (t *transaction) define(m protocol.Define) {
	config := t.dialect.CheckConfig(t.Job, t.v.ConfigVersion)
	if m.Config != nil {
		config = t.dialect.SetConfig(t.Job, t.v.Definition.Config, m.Config, t.v.ConfigVersion)
	}
	t.fenced("define/config", config...)
	module := registry.Op{Kind: registry.Check, Path: t.at(NodeModule), Version: t.seen("define/module", NodeVersion(t.v.ModuleVersion))}
	switch {
	case !t.v.HasModule && m.Module == nil:
		module.Kind = registry.Absent
	case !t.v.HasModule:
		module.Kind, module.Data = registry.Create, spelling.Bytes(m.Module)
	case m.Module != nil:
		module.Kind, module.Data = registry.Set, spelling.Bytes(m.Module)
	}
	t.ops = append(t.ops, module)
}

// switchModule replaces the module by the next one. It is refused if a member has joined
// since, which may not have that module.
func (t *transaction) switchModule() {
	t.noneJoined("switch/joins")
	t.op(registry.Set, t.at(NodeModule), definition.Switched(spelling.Bytes(t.v.Definition.Module)), t.seen("switch/module", NodeVersion(t.v.ModuleVersion)))
}
