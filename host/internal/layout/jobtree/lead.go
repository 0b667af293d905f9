package jobtree

import (
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A member of ours sets the leader's node once after creating it; a leader of ElasticJob
// only creates it. So the version shows which of them leads: a transaction is refused
// once ElasticJob leads, even if ElasticJob made other nodes anew in the versions that
// were seen.

func (t *transaction) elect(id job.InstanceID) {
	t.ephemeral(t.at(NodeLeaderInstance), string(id))
	t.op(registry.Set, t.at(NodeLeaderInstance), []byte(id), 0)
}

// checkLead: the leader is the one that was seen, or another member of ours, which
// begins an epoch first.
func (t *transaction) checkLead(fence string) {
	t.check(fence, t.at(NodeLeaderInstance), t.v.LeaderVersion)
}

// endLead deletes the node of the leader, unless ElasticJob leads by now. A process of
// ElasticJob deletes the node that it finds when it makes its own.
func (t *transaction) endLead(fence string) {
	t.delete(t.at(NodeLeaderInstance), t.seen(fence, t.v.LeaderVersion))
}
