package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// endsLead checks that a transaction ends no other member's lead, except one: if a foreign
// member deletes the leader's node, and another member of ours is elected before an
// Abdicate or a Leave arrives, the new node has the version that the author saw. Each
// node of our leaders is set once, so no fence can distinguish the two. The member whose
// lead ends that way is elected again.
func (l *ledger) endsLead(old *protocol.View, by author) {
	ends := old.Leader != "" && old.Leader != by.self && l.v.Leader == ""
	if ends && (theyLead(old) || by.view.Leader != by.self) {
		l.w.breach("another's lead", "%s ended the lead of %s", by, old.Leader)
	}
}
