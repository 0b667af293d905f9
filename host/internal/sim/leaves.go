package sim

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// disowned: nothing in the tree gives items to who has left in order, if a member of
// ElasticJob may take that for a death. A deal that came while the member left is told
// by the seal, if there was one; and what does not fit goes before, once. What somebody
// else writes is no deal, and nothing tells of it: it counts if the member could see it.
func (l *ledger) disowned(self protocol.ID, by author) {
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
