package sim

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// leftNoOwners checks that after an orderly leave no node assigns items to the member, where
// foreign members could take that for a death. A foreign leader may have assigned items
// while the member left; the seal shows that, if there was one. Nodes that do not fit the
// assignment are removed first, once. Nodes written by an operator's tool count if the
// member could see them.
func (l *ledger) leftNoOwners(self protocol.ID, by author) {
	v := by.view
	neighbour := func(in protocol.Instance) bool {
		return in.ID != self && strings.HasPrefix(string(in.ID), self.IP())
	}
	listens := shared(v) && v.Config != nil && v.Config.Failover && slices.ContainsFunc(v.Instances, neighbour)
	if !listens || l.w.options.MaxNodes != 0 || !v.Sealed && (theyLead(v) || theyLead(l.v)) {
		return
	}
	for i, it := range l.v.Items {
		unseen := i >= len(v.Items) || v.Items[i].Owner != self
		if it.Owner == self && !(unseen && slices.Contains(l.w.scribbled, l.w.tree.Get(l.w.nodes.item(i, markOwner)).Stat.Modified)) {
			l.w.breach("a clean stop is no death", "%s leaves, and item %d names it still", by, i)
		}
	}
}
