package v3

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/snakeyaml"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// CreateConfig writes the configuration of a new job into two nodes. As in ElasticJob the
// class comes last.
func (dialect) CreateConfig(j jobtree.Job, c protocol.Spelled) []registry.Op {
	class, yaml := split(spelling.Bytes(c))
	return []registry.Op{
		{Kind: registry.Create, Path: j.At(jobtree.NodeConfig), Data: yaml},
		{Kind: registry.Set, Path: j.Root(), Data: []byte(class), Version: registry.AnyVersion},
	}
}

// SetConfig writes a configuration, if both nodes still have the versions in have.
func (dialect) SetConfig(j jobtree.Job, _, c protocol.Spelled, have protocol.Version) []registry.Op {
	config, root := versions(have)
	class, yaml := split(spelling.Bytes(c))
	return []registry.Op{
		{Kind: registry.Set, Path: j.At(jobtree.NodeConfig), Data: yaml, Version: config},
		{Kind: registry.Set, Path: j.Root(), Data: []byte(class), Version: root},
	}
}

// CheckConfig makes the registry refuse the transaction unless both nodes have the versions
// in have.
func (dialect) CheckConfig(j jobtree.Job, have protocol.Version) []registry.Op {
	config, root := versions(have)
	return []registry.Op{
		{Kind: registry.Check, Path: j.At(jobtree.NodeConfig), Version: config},
		{Kind: registry.Check, Path: j.Root(), Version: root},
	}
}

// Register returns the creation of the node with which a member takes part: YAML, as
// ElasticJob 3 writes it.
func (dialect) Register(j jobtree.Job, id job.InstanceID) []registry.Op {
	lines, _ := snakeyaml.AppendText(nil, 0, "jobInstanceId", string(id))
	lines, _ = snakeyaml.AppendText(lines, 0, "serverIp", id.IP())
	return []registry.Op{{Kind: registry.CreateEphemeral, Path: j.Instance(id), Data: lines}}
}

// Unregister returns the deletion of the node with which a member takes part. A request to
// it has a node of its own, which goes as well. The transaction is refused if a request has
// come since the view.
func (d dialect) Unregister(j jobtree.Job, in protocol.Instance) []registry.Op {
	ops := []registry.Op{{Kind: registry.Delete, Path: j.Instance(in.ID), Version: in.Version}}
	if in.Request != 0 {
		return append(d.Request(j, in, false), ops...)
	}
	return append(d.Unasked(j, in), ops...)
}

// Server returns the value of a server's node, with which an operator disables the server.
func (dialect) Server(disabled bool) string {
	if disabled {
		return valueDisabled
	}
	return valueEnabled
}

func (dialect) Disabled(server registry.Node) bool { return string(server.Data) == valueDisabled }

// Requested is false: a request is not a value of an instance's node.
func (dialect) Requested(registry.Node) bool { return false }

func request(j jobtree.Job, id job.InstanceID) string {
	return j.At(jobtree.NodeTrigger) + "/" + string(id)
}

// Request asks an instance to begin, by a node of its own, or deletes that node. If one
// exists already, the instance has still to see it, so Request only checks that it stays.
func (d dialect) Request(j jobtree.Job, in protocol.Instance, asked bool) []registry.Op {
	switch {
	case asked && in.Request != 0:
		return d.Unasked(j, in)
	case asked:
		return []registry.Op{
			{Kind: registry.Check, Path: j.Instance(in.ID), Version: in.Version},
			{Kind: registry.Create, Path: request(j, in.ID), Data: []byte{}},
		}
	}
	return []registry.Op{{Kind: registry.Delete, Path: request(j, in.ID), Version: registry.AnyVersion}}
}

// Unasked makes the registry refuse the transaction if a request has come or gone since the
// view. A request's node outlives its instance, so the instance is checked as well.
func (dialect) Unasked(j jobtree.Job, in protocol.Instance) []registry.Op {
	ops := []registry.Op{{Kind: registry.Check, Path: j.Instance(in.ID), Version: in.Version}}
	if in.Request != 0 {
		return append(ops, registry.Op{Kind: registry.Check, Path: request(j, in.ID), Version: registry.AnyVersion})
	}
	return append(ops, registry.Op{Kind: registry.Absent, Path: request(j, in.ID)})
}

// Running marks the item with the id of the member. With failover the mark outlives the
// session, so that members of ElasticJob see what a dead member has run.
func (dialect) Running(j jobtree.Job, self job.InstanceID, item int, failover bool) registry.Op {
	kind := registry.CreateEphemeral
	if failover {
		kind = registry.Create
	}
	return registry.Op{Kind: kind, Path: j.Item(item, jobtree.MarkRunning), Data: []byte(self)}
}
