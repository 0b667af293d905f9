package sim

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// leftNoOwners checks that after an orderly leave no node assigns items to the member:
// foreign members on its address would take that for a death, and run its items again.
// If a foreign leader may have assigned items meanwhile, only the seal would show that,
// so without it nothing is checked. Nodes that an operator's tool wrote count only if
// the member could see them.
func (l *ledger) leftNoOwners(self protocol.ID, by origin) {
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
