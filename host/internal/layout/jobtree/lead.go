package jobtree

import (
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A member of ours sets the leader's node once after creating it; a leader of ElasticJob
// only creates it. So the version shows which of them leads. A transaction is refused once
// ElasticJob leads, even if ElasticJob has created other nodes again in the versions that
// were seen.

// elect makes a member of ours the leader. The set raises the version of the node, which
// shows that one of ours leads.
func (t *transaction) elect(id job.InstanceID) {
	t.ephemeral(t.at(NodeLeaderInstance), t.nameOf(id))
	t.op(registry.Set, t.at(NodeLeaderInstance), []byte(t.nameOf(id)), 0)
}

// checkLead adds a fence that holds if the leader is the one that was seen, or another
// member of ours. Such a member begins a new epoch before it changes anything.
func (t *transaction) checkLead(fence string) {
	t.check(fence, t.at(NodeLeaderInstance), t.v.LeaderVersion)
}

// endLead deletes the leader's node, unless ElasticJob leads by now. A process of
// ElasticJob deletes an existing node when it creates its own.
func (t *transaction) endLead(fence string) {
	t.delete(t.at(NodeLeaderInstance), t.seen(fence, t.v.LeaderVersion))
}

// setFirst sets the owner's node of item 0 beside members of ElasticJob, unless the
// transaction sets it anyway. When a leader of ElasticJob assigns, even a former one that
// has waited, it first deletes that node and creates it in version 0. So a version above 0
// shows that a leader of ours has assigned the items last.
func (t *transaction) setFirst(owners []job.InstanceID) {
	if len(owners) == 0 || !t.v.Shared() {
		return
	}
	// If the owner of item 0 changes, the transaction sets the node; if the item has none,
	// it creates the node, so that a set must follow.
	if it := t.v.Items; len(it) == 0 || it[0].Owner == "" || it[0].Owner == owners[0] && it[0].OwnerVer == 0 {
		t.op(registry.Set, t.Item(0, MarkInstance), []byte(owners[0]), 0)
	}
}

// checkFirst checks that no leader of ElasticJob has begun to assign since a leader of ours
// did. The node of item 0 shows that if its version is above 0.
func (t *transaction) checkFirst(fence string) {
	if len(t.v.Items) > 0 && t.v.Items[0].OwnerVer > 0 {
		t.checkOwners(fence, []int{0})
	}
}
