package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// patience21 is the longest absence of a foreign member that is taken for a lost
// connection.
const patience21 = 499 * millisecond

// lostForeign checks that a reclaim concerns a foreign member that has been away for longer
// than a lost connection. For a pending run that it left, the time counts from the creation
// of the node that was seen. If the run was taken meanwhile and its node created again, the
// new node has the same version and cannot be distinguished. Ending such a run too early is
// acceptable, because the members want it run.
func (l *ledger) lostForeign(m protocol.ReclaimForeign, by origin) {
	for _, p := range m.Pend {
		since, gone := l.away[p.Dead]
		switch {
		case !l.foreignIDs[p.Dead]: // its owner is unknown, or a member of ours whose pending run a foreign member has written over
			if k := slices.IndexFunc(by.view.Pending, func(q protocol.Pending) bool { return q.Item == p.Item }); k >= 0 {
				since, gone = l.left[leftRun{p.Item, by.view.Pending[k].Modified}]
			}
		case !gone && l.cameBackUnseen(p.Dead, by.view):
			since, gone = l.back[p.Dead]
		}
		if (!gone || l.w.now-since < patience21) && !l.w.wrong(by.member) {
			l.w.breach("grace", "%s: item %d of %s, which has been away for %d ms", by, p.Item, p.Dead, (l.w.now-since)/millisecond)
		}
	}
}

// cameBackUnseen reports whether a foreign member that is there again may be missing in the
// view v of a reclaim, so that the reclaim is no fault. A member that comes back writes its
// server's node and then its instance. The transaction checks the first node, which v has in
// its present version, but no transaction can check that an instance is missing. So a reclaim
// that was decided between the two writes is not refused, if the reclaimer has waited for
// longer than the grace. The former session of the member has ended all the same, so
// ElasticJob would also have run again what it ran.
func (l *ledger) cameBackUnseen(id protocol.ID, v *protocol.View) bool {
	version := func(v *protocol.View) int32 {
		k := slices.IndexFunc(v.Servers, func(s protocol.Server) bool { return s.IP == id.IP() })
		if k < 0 {
			return -1
		}
		return v.Servers[k].Version
	}
	return registered(v, id) == nil && version(v) >= 0 && version(v) == version(l.v)
}
