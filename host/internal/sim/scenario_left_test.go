package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Scenarios of runs and items that are left to other members.

func leftScenarios() []scenario {
	return []scenario{
		{"who joins finds what a member of ElasticJob wants run again, though it had ended", func(w *World) {
			w.plain(2, 9)
			w.theirs("10.0.0.1", 0)
			w.theirs("10.0.0.1", 1) // the same address: ElasticJob wants the runs of a dead member run again
			w.ours(2, 5)
		}, joinsToEnded},
		{"a leader of ElasticJob deals while a part of our deal is on its way", func(w *World) {
			w.plain(9, 3)
			w.options.MaxNodes = 2
			w.ours(1, 0).timeout = 60 * second
			w.theirs("10.0.0.10", 6)
		}, reassignedInParts},
	}
}

// joinsToEnded: a member leaves, and a foreign one runs its item and dies when the run
// has ended. Another on the same address wants the item run again, and freezes. A member
// that joins then sees the run of the first in the tree, and does not know yet which
// instant is the newest.
func joinsToEnded(w *World) driver {
	p, q, a := w.jvms[0], w.jvms[1], w.members[0]
	asked, left, reached := false, false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		switch mu.(type) {
		case protocol.Complete:
			if !asked && settledIn(w) && len(a.guests) == 0 {
				asked, a.retired = true, true
				w.after(300*millisecond, func() { w.request(a, protocol.AskLeave{}) })
			}
		case protocol.Leave:
			left = true
		case protocol.Join:
			if left && !reached {
				reached = true
				w.slowLine(a, 700*millisecond)
			}
		default:
		}
	}, change: func(old, now *protocol.View) {
		if left && q.up && old.Items[0].Running != 0 && now.Items[0].Running == 0 {
			w.after(300*millisecond, q.dies)
		}
		if left && !reached && !p.frozen && slices.ContainsFunc(now.Pending, func(q protocol.Pending) bool { return q.Foreign }) {
			w.after(1, p.freeze)
			w.after(100*millisecond, func() { a.retired = false; a.start() })
			w.after(1500*millisecond, p.thaw)
		}
	}}
}

// reassignedInParts: our leader deletes the owners' nodes that change, in several parts. While
// one is on its way, a foreign leader assigns all items, and another reshard is requested.
// The nodes then look like those that the part was decided on.
func reassignedInParts(w *World) driver {
	a := w.members[0]
	struck, assigned, reached := false, false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if o, ok := mu.(protocol.Owners); ok && len(o.DeleteOwners) > 0 && !struck && m == a {
			struck = true
			w.slowLine(a, w.untilTick(nil)+2*second)
			w.after(1, w.unseat)
		}
	}, change: func(old, now *protocol.View) {
		if struck && !assigned && old.Necessary && !now.Necessary {
			assigned = true
			w.after(100*millisecond, func() {
				if !w.ledger.v.Necessary {
					w.tool(protocol.MarkReshard{})
				}
			})
		}
		reached = reached || assigned && now.Necessary && a.commit != nil
	}}
}
