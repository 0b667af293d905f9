package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

func (t *transaction) reshard(m protocol.Reshard) {
	t.checkLead("reshard/lead")
	t.checkRuns("reshard/records", m.Check)
	t.unasked("reshard/requests", m.Moving)
	t.setAssignment("reshard/epoch", &m.Next)
	if t.v.Sealed {
		t.delete(t.seal(), registry.AnyVersion) // of another leader's assignment
	}
	if m.Self != "" {
		t.own(m.Self, m.Own)
	}
	if m.Parts {
		// No member has joined since. The set gives the mark a version above 0. If a
		// leader of ElasticJob deletes it and a member makes it anew, it has version 0,
		// so the parts that follow do not touch what that leader assigned.
		t.op(registry.Set, t.at(NodeNecessary), nil, t.seen("reshard-parts/joins", t.v.NecessaryV))
		if m.Pause && !t.v.Processing {
			t.ephemeral(t.at(NodeProcessing), "")
		}
		t.deleteOwners(m.DeleteOwners)
		return
	}
	t.makeParents(NodeSharding)
	for i, owner := range m.Next.Owners {
		t.owner(i, owner)
	}
	t.lists(m.Next.Owners, nil, true)
	t.surplus(m.Remove, m.Clear)
	t.resharded("reshard/joins", m.Next.Owners)
}

// owners writes a part of a reshard. It is refused if the assignment has changed.
func (t *transaction) owners(m protocol.Owners) {
	t.checkLead("owners/lead")
	t.checkAssignment("owners/epoch")
	if !m.Last {
		t.check("owners/joins", t.at(NodeNecessary), t.v.NecessaryV) // no other leader has assigned since
	}
	if len(m.DeleteOwners) > 0 {
		t.deleteOwners(m.DeleteOwners)
		return
	}
	t.makeParents(NodeSharding)
	for _, i := range m.Write {
		t.owner(i, t.v.Assignment.Owners[i])
	}
	t.lists(t.v.Assignment.Owners, m.Write, m.Last)
	t.surplus(m.Remove, m.Clear)
	if m.Last {
		t.resharded("owners-last/joins", t.v.Assignment.Owners)
	}
}

// seal is the mark of an adoption. It is below an owner's node, so an assignment by
// ElasticJob, which deletes all owners' nodes, deletes it too.
func (j Job) seal() string { return j.Item(0, MarkSeal) }

// checkSeal: the seal that was seen, if there was one, is still there.
func (t *transaction) checkSeal(fence string) bool {
	if t.v.Sealed {
		t.check(fence, t.seal(), registry.AnyVersion)
	}
	return t.v.Sealed
}

// deleteOwners deletes the nodes of owners, in the versions that were seen.
func (t *transaction) deleteOwners(items []int) {
	for _, i := range items {
		t.delete(t.Item(i, MarkInstance), t.seen("delete-owners/owners", t.v.Items[i].OwnerVer))
	}
}

// checkOwners: the nodes of owners are as they were seen.
func (t *transaction) checkOwners(fence string, items []int) {
	for _, i := range items {
		t.check(fence, t.Item(i, MarkInstance), t.v.Items[i].OwnerVer)
	}
}

// owner brings the node of an item in line with the assignment.
func (t *transaction) owner(i int, owner job.InstanceID) {
	var it protocol.Item
	if i < len(t.v.Items) {
		it = t.v.Items[i]
	}
	if !it.Exists {
		t.create(t.Item(i, ""), "")
	}
	switch {
	case t.byAddress(): // lists say it
	case it.Owner == "":
		t.create(t.Item(i, MarkInstance), string(owner))
	case it.Owner != owner:
		t.op(registry.Set, t.Item(i, MarkInstance), []byte(owner), t.seen("owners/owner", it.OwnerVer))
	}
}

func (t *transaction) surplus(remove, keep []int) {
	for _, i := range remove {
		t.clearItem(i)
		t.delete(t.Item(i, ""), registry.AnyVersion)
	}
	for _, i := range keep {
		t.clearItem(i)
	}
}

// resharded deletes the marks of a reshard, if no member has joined since. All owners'
// nodes are then as the assignment says.
func (t *transaction) resharded(fence string, owners []job.InstanceID) {
	t.setFirst(owners)
	t.delete(t.at(NodeNecessary), t.seen(fence, t.v.NecessaryV))
	if t.v.Processing {
		t.delete(t.at(NodeProcessing), registry.AnyVersion)
	}
}

// clearItem deletes what is ours below an item.
func (t *transaction) clearItem(i int) {
	it := t.v.Items[i]
	for _, n := range []struct {
		there bool
		mark  string
	}{
		{it.Owner != "" && !t.byAddress(), MarkInstance}, {it.Marked(), MarkRunning}, {it.Misfire, MarkMisfire},
		{it.Disabled, MarkDisabled}, {it.Nodes.Has(completed), markCompleted},
		{it.Nodes.Has(lastBegin), markLastBegin}, {it.Nodes.Has(lastEnd), markLastEnd}, {it.Nodes.Has(nextFire), markNextFire},
	} {
		if n.there {
			t.delete(t.Item(i, n.mark), registry.AnyVersion)
		}
	}
	if backfillIn(t.v.Backfills, i) != nil {
		t.delete(t.backfillOf(i), registry.AnyVersion)
	}
	if it.Failover != "" {
		t.deleteTaken(i)
	}
}
