package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// contend creates a place at the end of a latch's queue, and the missing nodes above it.
func (t *transaction) contend(m protocol.Contend) {
	above, node := NodeElection, NodeLatch
	if m.Latch == protocol.FailoverLatch {
		above, node = NodeFailover, NodeFailoverLatch
	}
	t.makeParents(NodeLeader, above, node)
	t.op(registry.CreateEphemeralSequential, t.at(node)+"/"+spelling.LatchPrefix+m.Token+"-"+spelling.LatchName, nil, 0)
}

// place returns the node of a place in a queue.
func (j Job) place(l protocol.Latch, name string) string {
	if l == protocol.FailoverLatch {
		return j.at(NodeFailoverLatch) + "/" + name
	}
	return j.at(NodeLatch) + "/" + name
}
