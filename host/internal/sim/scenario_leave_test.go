package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Scenarios of a member that leaves in order, beside a foreign member on the same
// address, which may take the leave for a death.

func leaveScenarios() []scenario {
	return []scenario{
		{"a member leaves in order, and nothing that had ended runs again", sharedAddress(0), leavesIdle},
		{"a leader of ElasticJob deals while a Leave is on its way", func(w *World) {
			sharedAddress(0)(w)
			w.ours(9, 9)
		}, assignedBeforeLeft},
		{"a member is told to leave while a leader of ElasticJob deals", sharedAddress(0), leavesDuringAssignment},
		{"a member leaves in order, with more items than fit", sharedAddress(2), leavesIdle},
	}
}

func sharedAddress(nodes int) func(*World) {
	return func(w *World) {
		w.plain(9, 9)
		w.options.MaxNodes = nodes
		w.theirs("10.0.0.1", 0)
		w.ours(1, 5).timeout = 60 * second
		w.ours(2, 7)
	}
}

// leaving breaches if ElasticJob takes the leave for a death, and sets gone when the first
// member has gone.
func leaving(w *World, gone *bool, change func(old, now *protocol.View)) func(old, now *protocol.View) {
	there := func(v *protocol.View) bool {
		return slices.ContainsFunc(v.Members, func(m protocol.Member) bool { return m.ID.IP() == w.members[0].ip })
	}
	return func(old, now *protocol.View) {
		*gone = *gone || there(old) && !there(now)
		if *gone && slices.ContainsFunc(now.Pending, func(p protocol.Pending) bool { return p.Foreign }) {
			w.breach("a clean stop is no death", "a member of ElasticJob wants items run again that had ended")
		}
		change(old, now)
	}
}

// leavesIdle: the runs of an instant have ended.
func leavesIdle(w *World) driver {
	a := w.members[0]
	asked, gone := false, false
	return driver{reached: &gone, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.Complete); ok && m == a && !asked && settledIn(w) && len(a.guests) == 0 {
			asked = true
			w.after(300*millisecond, func() { w.request(a, protocol.AskLeave{}) })
		}
	}, change: leaving(w, &gone, func(_, _ *protocol.View) {})}
}

// assignedBeforeLeft: another member has left meanwhile, so the member that leaves gets
// more items.
func assignedBeforeLeft(w *World) driver {
	a, c := w.members[0], w.members[2]
	asked, gone, sent := false, false, false
	return driver{reached: &gone, sending: func(m *member, mu protocol.Mutation) {
		switch mu.(type) {
		case protocol.Complete:
			if m == a && !asked && settledIn(w) && len(a.guests) == 0 {
				asked = true
				w.after(300*millisecond, func() { w.request(a, protocol.AskLeave{}) })
			}
		case protocol.Leave:
			if m == a && !sent {
				sent = true
				w.slowLine(a, w.untilTick(nil)+2*second)
				c.dies()
			}
		default:
		}
	}, change: leaving(w, &gone, func(_, _ *protocol.View) {})}
}

// leavesDuringAssignment: if the Leave is decided while items are being assigned, its
// answer takes until that has ended and another reshard was requested.
func leavesDuringAssignment(w *World) driver {
	a, p := w.members[0], w.jvms[0]
	wished, withdrawn, sent, again, gone := false, false, false, false, false
	mark := func() { w.tool(protocol.MarkReshard{}) }
	return driver{reached: &gone, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.Leave); ok && m == a && w.ledger.v.Processing {
			sent = true
			w.slowLine(a, 1500*millisecond)
		}
	}, change: leaving(w, &gone, func(old, now *protocol.View) {
		switch {
		case settledIn(w) && !wished && !now.Necessary && !now.Processing:
			wished = true
			w.after(1, mark)
		case wished && !withdrawn && old.Items[8].Owner != "" && now.Items[8].Owner == "" && theyLead(now):
			withdrawn = true
			w.after(1, p.freeze)
			w.after(100*millisecond, func() { w.request(a, protocol.AskLeave{}) })
			w.after(300*millisecond, p.thaw)
		case sent && !again && old.Necessary && !now.Necessary:
			again = true
			w.after(1, mark)
		}
	})}
}
