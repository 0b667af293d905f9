package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// parents are the nodes that exist only for those below them. View.Nodes numbers them in
// this order.
var parents = []string{
	NodeLeader, NodeElection, NodeLatch, NodeLeaderSharding, NodeServers, NodeInstances, NodeWasm, NodeMembers, NodeRuns,
	NodeAssignment, NodeSharding, NodeFailover, NodeFailoverItems, NodeFailoverLatch, NodeTrigger,
}

// parent records whether a parent exists. It ignores other nodes.
func (d *Decoder) parent(node string, exists bool) {
	if k := slices.Index(parents, node); k >= 0 {
		d.v.Nodes.Set(k, exists)
	}
}

// has reports whether all these parents exist.
func has(v *protocol.View, nodes ...string) bool {
	return !slices.ContainsFunc(nodes, func(node string) bool { return !v.Nodes.Has(slices.Index(parents, node)) })
}

// undefined reports whether a job has nodes of ours, but no configuration, by its own node.
func undefined(root registry.Node) bool {
	return slices.Contains(root.Children, NodeWasm) && !slices.Contains(root.Children, NodeConfig)
}

// parentsOf returns what the core asks of the existing parents.
func parentsOf(v *protocol.View) protocol.Parents {
	return protocol.Parents{
		Shared: has(v, NodeServers, NodeLeaderSharding) && (v.ByAddress || has(v, NodeInstances)), Latch: has(v, NodeLatch),
		Ours: has(v, NodeMembers, NodeRuns), Assignment: has(v, NodeAssignment),
	}
}

// makeParents creates those of these nodes that are missing. Outer ones must come first.
func (t *transaction) makeParents(nodes ...string) {
	for _, node := range nodes {
		if !has(t.v, node) && (node != NodeInstances || !t.byAddress()) {
			t.create(t.at(node), "")
		}
	}
}
