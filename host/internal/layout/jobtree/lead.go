package jobtree

import (
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A leader's node that a member of ours has made is set once, so its version tells
// it from that of a leader of ElasticJob, which makes it and never sets it: a
// transaction is refused where ElasticJob leads by now, also if it has made other
// nodes anew in the versions that were seen.

func (t *transaction) elect(id job.InstanceID) {
	t.ephemeral(t.at(NodeLeaderInstance), string(id))
	t.op(registry.Set, t.at(NodeLeaderInstance), []byte(id), 0)
}

// checkLead: who leads is who was seen to, or another member of ours, which begins
// an epoch first.
func (t *transaction) checkLead(fence string) {
	t.check(fence, t.at(NodeLeaderInstance), t.v.LeaderVersion)
}

// endLead deletes the node of the leader, unless ElasticJob leads by now. A process of
// ElasticJob deletes the node that it finds when it makes its own.
func (t *transaction) endLead(fence string) {
	t.delete(t.at(NodeLeaderInstance), t.seen(fence, t.v.LeaderVersion))
}
