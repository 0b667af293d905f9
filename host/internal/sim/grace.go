package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// patience21 is how long a member of ElasticJob may be away.
const patience21 = 499 * millisecond

// orphans: a member that has been away for so short that it may only have lost its
// connection is not dead. A pending run that one of them left counts from when the
// node was made that was seen: one that was taken meanwhile and made anew has its
// version, and nobody can tell the two apart. What is named too early then is no
// more than wanted, for they want it run.
func (l *ledger) orphans(m protocol.ReclaimForeign, by author) {
	for _, p := range m.Pend {
		since, gone := l.away[p.Dead]
		switch {
		case p.Dead == "": // nobody knows whose it was
			if k := slices.IndexFunc(by.view.Pending, func(q protocol.Pending) bool { return q.Item == p.Item }); k >= 0 {
				since, gone = l.left[leftRun{p.Item, by.view.Pending[k].Modified}]
			}
		case !gone && l.cameBackUnseen(p.Dead, by.view):
			since, gone = l.back[p.Dead]
		}
		if !gone || l.w.now-since < patience21 {
			l.w.breach("grace", "%s: item %d of %s, which has been away for %d ms", by, p.Item, p.Dead, (l.w.now-since)/millisecond)
		}
	}
}

// cameBackUnseen: a member has written nothing but its instance since a view was
// read. It writes the node of its server first, and the transaction checks that
// one; that there is no instance, no transaction can check. If the member waits in
// between, and the replica of who decides stands still for longer than a grace, then
// the two are in nobody's order. Its session has ended all the same, so its own kind
// would have run again at once what it had open.
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
