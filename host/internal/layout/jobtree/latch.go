package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// contend makes a place in a queue, and what is missing above it.
func (t *transaction) contend(m protocol.Contend) {
	above, node := NodeElection, NodeLatch
	if m.Latch == protocol.FailoverLatch {
		above, node = NodeFailover, NodeFailoverLatch
	}
	t.makeParents(NodeLeader, above, node)
	t.op(registry.CreateEphemeralSequential, t.at(node)+"/"+spelling.LatchPrefix+m.Token+"-"+spelling.LatchName, nil, 0)
}

// place is a node of a queue.
func (j Job) place(l protocol.Latch, name string) string {
	if l == protocol.FailoverLatch {
		return j.at(NodeFailoverLatch) + "/" + name
	}
	return j.at(NodeLatch) + "/" + name
}
