package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// endsLead checks that a transaction does not end the lead of another member. One case
// is allowed: a foreign member deletes the leader's node, and another member of ours is
// elected before an Abdicate or a Leave of the former leader arrives. Our leaders set
// their node once, so the new node has the version of the old one, and no fence can
// distinguish them. The member that loses the lead in this way is elected again.
func (l *ledger) endsLead(old *protocol.View, by origin) {
	ends := old.Leader != "" && old.Leader != by.self && l.v.Leader == ""
	if ends && (theyLead(old) || by.view.Leader != by.self) {
		l.w.breach("another's lead", "%s ended the lead of %s", by, old.Leader)
	}
}
