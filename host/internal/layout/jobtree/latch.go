package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// parent is a node above others, and whether it is there.
type parent struct {
	there bool
	node  string
}

// contend makes a place in a queue, and what is missing above it.
func (t *transaction) contend(m protocol.Contend) {
	d := t.v.Dirs
	node, above := NodeLatch, []parent{{d.Leader, NodeLeader}, {d.Election, NodeElection}, {d.Latch, NodeLatch}}
	if m.Latch == protocol.FailoverLatch {
		node, above = NodeFailoverLatch, []parent{{d.Leader, NodeLeader}, {d.Failover, NodeFailover}, {d.FailoverLatch, NodeFailoverLatch}}
	}
	for _, p := range above {
		if !p.there {
			t.create(t.at(p.node), "")
		}
	}
	t.op(registry.CreateEphemeralSequential, t.at(node)+"/"+spelling.LatchPrefix+m.Token+"-"+spelling.LatchName, nil, 0)
}

// place is a node of a queue.
func (j Job) place(l protocol.Latch, name string) string {
	if l == protocol.FailoverLatch {
		return j.at(NodeFailoverLatch) + "/" + name
	}
	return j.at(NodeLatch) + "/" + name
}
