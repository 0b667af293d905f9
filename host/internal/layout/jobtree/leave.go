package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// leave removes a member from the tree. It sets no mark for a reshard: members of
// ElasticJob set it when they notice that the instance has gone. If the mark came first,
// their leader would assign items to the leaving instance.
func (t *transaction) leave(m protocol.Leave) {
	if m.Listened {
		t.deleteSealedOwners(m.Items)
		if t.v.Necessary {
			t.renewMark()
		}
	}
	t.delete(t.runsOf(m.Self), t.seen("leave/record", t.version(m.Self)))
	t.setAssignment("leave/epoch", &m.Next)
	if t.v.Leader == m.Self {
		t.endLead("leave/lead")
	}
	for _, in := range t.v.Instances {
		if in.ID == m.Self {
			t.fenced("leave/requests", t.dialect.Unregister(t.Job, in)...)
		}
	}
	t.delete(t.member(m.Self), registry.AnyVersion)
}

// deleteSealedOwners deletes owners' nodes before the instance that they name, because
// listeners of ElasticJob are notified in this order. If a leader of ElasticJob has
// assigned since, the seal is gone, and the nodes may name other owners.
func (t *transaction) deleteSealedOwners(items []int) {
	switch {
	case t.v.Sealed && slices.Contains(items, 0):
		t.delete(t.seal(), registry.AnyVersion)
	default:
		t.checkSeal("delete-owners/seal")
	}
	t.deleteOwners(items)
}

// markReshard requests a reshard.
func (t *transaction) markReshard() {
	if t.v.Necessary {
		t.renewMark()
	} else {
		t.create(t.at(NodeNecessary), "")
	}
}

// renewMark sets the mark. A reshard that was decided before is then refused, because the
// mark has another version.
func (t *transaction) renewMark() {
	t.op(registry.Set, t.at(NodeNecessary), nil, registry.AnyVersion)
}
