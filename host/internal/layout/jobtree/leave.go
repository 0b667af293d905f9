package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// leave takes a member out of the tree. It makes no mark for a reshard: members of
// ElasticJob make one when they have heard that the instance has gone. By one that
// is there before, their leader would deal to it.
func (t *transaction) leave(m protocol.Leave) {
	if m.Listened {
		t.disown(m.Items)
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

// disown deletes owners' nodes before the instance that they name: listeners of
// ElasticJob hear of them in this order. If a leader of ElasticJob has dealt since,
// the seal is gone, and the items may be others.
func (t *transaction) disown(items []int) {
	switch {
	case t.v.Sealed && slices.Contains(items, 0):
		t.delete(t.seal(), registry.AnyVersion)
	default:
		t.checkSeal("disown/seal")
	}
	t.strip(items)
}

// markReshard asks for a reshard.
func (t *transaction) markReshard() {
	if t.v.Necessary {
		t.renewMark()
	} else {
		t.create(t.at(NodeNecessary), "")
	}
}

// renewMark refuses a reshard that was decided before: the mark that it saw is
// another one.
func (t *transaction) renewMark() {
	t.op(registry.Set, t.at(NodeNecessary), nil, registry.AnyVersion)
}
