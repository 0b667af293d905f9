package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// leave removes a member from the tree. If foreign members listen, they would regard that
// as a death, so owners' nodes that name the member are deleted first. leave creates no
// mark for a reshard: members of ElasticJob do when they notice that the instance has gone.
// If the mark came first, their leader would assign items to the leaving instance.
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
// assigned since the view, the seal is gone, the nodes may name other owners, and the
// transaction is refused. The seal is below the owner's node of item 0, so it must go
// before that.
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
