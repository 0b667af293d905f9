package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// known: of an item that moves from a member of ElasticJob to one of ours, the
// instants count that its marks were there for, if who deals could see them.
func (l *ledger) known(old *protocol.View, by author) {
	if !l.w.orderly {
		return
	}
	for i, o := range l.v.Assignment.Owners {
		r := l.runs[i]
		if !l.strangers[ownerOf(old, i)] || l.strangers[o] || r.at > l.w.now-evident || r.at < by.member.since+evident {
			continue
		}
		if t := lastOf(l.v, i); t < r.instant && !l.wentTogether(ownerOf(old, i), r.at) {
			l.w.breach("evidence", "%s: item %d goes to %s as accounted for up to %d, but a member of ElasticJob ran %d", by, i, o, t-1_700_000_000_000, r.instant-1_700_000_000_000)
		}
	}
}

// wentTogether: the member left right after its run, and another one came or left
// about then. Who sees it all in one read knows the revision of the later change
// only, and so not whether the mark went before its member, or in its death.
func (l *ledger) wentTogether(id protocol.ID, ran int64) bool {
	left, gone := l.away[id]
	another := func(at int64) bool { return at != left && max(at, left)-min(at, left) < evident }
	return gone && left < ran+evident && slices.ContainsFunc(l.turnover, another)
}

// evident is how long after a mark everybody has seen it.
const evident = 500 * millisecond
