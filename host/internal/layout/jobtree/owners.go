package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// reshard writes a new assignment, and makes the items' nodes match it. With Parts it
// writes only the assignment; transactions of Owners write the nodes.
func (t *transaction) reshard(m protocol.Reshard) {
	t.checkLead("reshard/lead")
	t.checkRuns("reshard/records", m.Check)
	t.unasked("reshard/requests", m.Moving)
	t.setAssignment("reshard/epoch", &m.Next)
	if t.v.Sealed {
		t.delete(t.seal(), registry.AnyVersion) // the seal of another leader's assignment
	}
	if m.Self != "" {
		t.own(m.Self, m.Own)
	}
	if m.Parts {
		// It fails if a member has joined since. The set raises the version of the mark
		// above 0. If a leader of ElasticJob deletes the mark and a member creates it
		// again, it has version 0, so the parts that follow do not touch that leader's
		// assignment.
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

// owners writes a part of a reshard: it deletes owners' nodes, or makes some items' nodes
// match the assignment. It is refused if the assignment has changed.
func (t *transaction) owners(m protocol.Owners) {
	t.checkLead("owners/lead")
	t.checkAssignment("owners/epoch")
	if !m.Last {
		t.check("owners/joins", t.at(NodeNecessary), t.v.NecessaryV) // it fails if another leader has assigned since
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

// seal is the node that marks an adoption. It is below an owner's node, so an assignment by
// ElasticJob, which deletes all owners' nodes, deletes the seal as well.
func (j Job) seal() string { return j.Item(0, MarkSeal) }

// checkSeal checks that the seal in the view, if there is one, still exists. It reports
// whether there is one.
func (t *transaction) checkSeal(fence string) bool {
	if t.v.Sealed {
		t.check(fence, t.seal(), registry.AnyVersion)
	}
	return t.v.Sealed
}

// deleteOwners deletes owners' nodes in the versions that were seen.
func (t *transaction) deleteOwners(items []int) {
	for _, i := range items {
		t.delete(t.Item(i, MarkInstance), t.seen("delete-owners/owners", t.v.Items[i].OwnerVer))
	}
}

// checkOwners checks that owners' nodes are as they were seen.
func (t *transaction) checkOwners(fence string, items []int) {
	for _, i := range items {
		t.check(fence, t.Item(i, MarkInstance), t.v.Items[i].OwnerVer)
	}
}

// owner makes the nodes of an item match its owner in the assignment.
func (t *transaction) owner(i int, owner job.InstanceID) {
	var it protocol.Item
	if i < len(t.v.Items) {
		it = t.v.Items[i]
	}
	if !it.Exists {
		t.create(t.Item(i, ""), "")
	}
	switch {
	case t.byAddress(): // the servers' lists name owners
	case it.Owner == "":
		t.create(t.Item(i, MarkInstance), string(owner))
	case it.Owner != owner:
		t.op(registry.Set, t.Item(i, MarkInstance), []byte(owner), t.seen("owners/owner", it.OwnerVer))
	}
}

// surplus clears items beyond the total. It deletes the nodes of remove, and what is ours
// below those of keep, which have foreign nodes below them.
func (t *transaction) surplus(remove, keep []int) {
	for _, i := range remove {
		t.clearItem(i)
		t.delete(t.Item(i, ""), registry.AnyVersion)
	}
	for _, i := range keep {
		t.clearItem(i)
	}
}

// resharded deletes the marks of a reshard at its end, when all owners' nodes match the
// assignment. It is refused if a member has joined since.
func (t *transaction) resharded(fence string, owners []job.InstanceID) {
	t.setFirst(owners)
	t.delete(t.at(NodeNecessary), t.seen(fence, t.v.NecessaryV))
	if t.v.Processing {
		t.delete(t.at(NodeProcessing), registry.AnyVersion)
	}
}

// clearItem deletes those of our nodes below an item that the view shows.
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
