package sim

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// queues checks that no member is left in a queue.
func (l *ledger) queues() {
	for _, p := range []string{l.w.nodes.election, l.w.nodes.failover, l.w.nodes.started + "-latch", l.w.nodes.completed + "-latch"} {
		if kids := l.w.tree.Get(p).Children; len(kids) > 0 {
			l.w.breach("the latch", "in the end %s has %s", strings.TrimPrefix(p, l.w.nodes.root), strings.Join(kids, " "))
		}
	}
}

// alone checks the end of a job that only foreign members had.
func (l *ledger) alone() {
	v := l.v
	l.queues()
	ownerless := func(it protocol.Item) bool { return registered(v, it.Owner) == nil }
	if l.w.three && (slices.ContainsFunc(v.Items, outlived) || slices.ContainsFunc(v.Items, ownerless)) {
		// In 3.0.4 such a rest may stay: members that saw a session end knew its process by
		// another id, or were just assigning items, and no member looks again soon.
		return
	}
	if v.Necessary || v.Processing || v.Leader == "" || len(v.Items) != v.Config.Total {
		l.w.breach("calm", "necessary %v processing %v, the leader is %q, %d items of %d", v.Necessary, v.Processing, v.Leader, len(v.Items), v.Config.Total)
	}
	for i, it := range v.Items {
		if it.Running != 0 || it.Failover != "" {
			l.w.breach("calm", "item %d: %+v", i, it)
		}
	}
}

// outlived reports whether the item has a mark of a member that is gone.
func outlived(it protocol.Item) bool {
	return it.Abandoned || it.Failover != "" && it.TakerSession == 0
}
