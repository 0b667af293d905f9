package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// known checks an item that moves from a foreign member to one of ours: instants whose
// marks the leader could see must be accounted for. A run that ended just now, or before
// the leader had been there for a while, does not count.
func (l *ledger) known(old *protocol.View, by origin) {
	if !l.w.orderly {
		return
	}
	for i, o := range l.v.Assignment.Owners {
		r := l.runs[i]
		if !l.foreignIDs[ownerOf(old, i)] || l.foreignIDs[o] || r.at > l.w.now-evident || r.at < by.member.since+evident {
			continue
		}
		if t := lastOf(l.v, i); t < r.instant && !l.wentTogether(ownerOf(old, i), r.at) {
			l.w.breach("evidence", "%s: item %d goes to %s as accounted for up to %d, but a member of ElasticJob ran %d", by, i, o, sinceStart(t), sinceStart(r.instant))
		}
	}
}

// wentTogether reports whether the member left right after its run, about when another
// member came or left. A read then shows only the revision of the later change, and not
// whether the mark went before its member or with it.
func (l *ledger) wentTogether(id protocol.ID, ran int64) bool {
	left, gone := l.away[id]
	another := func(at int64) bool { return at != left && max(at, left)-min(at, left) < evident }
	return gone && left < ran+evident && slices.ContainsFunc(l.turnover, another)
}

// evident is the time within which every member sees a mark.
const evident = 500 * millisecond
