package sim

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// A foreign member takes the lead, assigns the items, and is asked to do so again, all
// while a transaction of the leader before is on its way. By then the mark and the
// owners' nodes are new nodes with the versions that the former leader has seen.

func leadScenarios() []scenario {
	return []scenario{
		{"a reshard arrives after ElasticJob has taken the lead and assigned", func(w *World) {
			w.plain(6, 3)
			w.ours(1, 0).timeout = 60 * second
			w.theirs("10.0.1.1", 5)
		}, leadBeforeReshard},
		{"a part of a reshard arrives after ElasticJob has taken the lead and assigned", func(w *World) {
			w.plain(6, 3)
			w.options.MaxNodes = 4
			w.ours(1, 0)
			w.ours(2, -1)
			w.theirs("10.0.1.1", 5)
		}, leadBeforePart},
		{"a begin arrives after ElasticJob has taken the lead and assigned", func(w *World) {
			w.plain(6, 9)
			w.ours(5, 0)
			w.theirs("10.0.0.1", 3)
			w.theirs("10.0.0.9", 4)
		}, leadBeforeBegin},
		{"a begin arrives after ElasticJob has assigned, whose lead had ended", func(w *World) {
			w.plain(6, 9)
			w.config.Failover = false
			w.profile.long = [2]int64{14_000, 14_001}
			w.ours(1, 5)
			w.ours(2, 7)
			w.theirs("10.0.1.1", 0)
			w.jvms[0].timeout = 60 * second
		}, formerLeaderAssigns},
		{"an abdication arrives after ElasticJob has taken the lead", oneOfOursLeads, leadBeforeAbdicate},
		{"a leave of the leader arrives after ElasticJob has taken the lead", oneOfOursLeads, leadBeforeLeave},
	}
}

func oneOfOursLeads(w *World) {
	w.plain(6, 9)
	w.ours(1, 0).timeout = 60 * second
	w.theirs("10.0.1.1", 5)
}

func leadBeforeAbdicate(w *World) driver {
	return leadEnds(w, func(a *member) { w.tool(protocol.DisableServer{IP: a.ip, Disabled: true}) })
}

func leadBeforeLeave(w *World) driver {
	return leadEnds(w, func(a *member) { w.request(a, protocol.AskLeave{}) })
}

// leadEnds has the leader give up the lead just after ElasticJob has taken it.
func leadEnds(w *World, ask func(*member)) driver {
	a := w.members[0]
	asked, sent, reached := false, false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		switch mu.(type) {
		case protocol.Complete:
			if !asked && settledIn(w) {
				asked = true
				w.after(300*millisecond, func() { ask(a) })
			}
		case protocol.Abdicate, protocol.Leave:
			if !sent {
				sent = true
				w.slowLine(a, 1500*millisecond)
				w.after(1, w.unseat)
			}
		default:
		}
	}, change: func(_, now *protocol.View) {
		reached = reached || sent && theyLead(now) && a.commit != nil
	}}
}

func leadBeforeReshard(w *World) driver {
	a := w.members[0]
	return leadTaken(w, a, atInstant, func(mu protocol.Mutation) bool { _, ok := mu.(protocol.Reshard); return ok && w.jvms[0].up })
}

func leadBeforePart(w *World) driver {
	a, b := w.members[0], w.members[1]
	s := leadTaken(w, a, atTrigger, func(mu protocol.Mutation) bool {
		m, ok := mu.(protocol.Owners)
		return ok && w.jvms[0].up && len(m.Write) > 0
	})
	asked := s.change
	s.change = func(old, now *protocol.View) {
		if asked(old, now); *s.reached && !b.up {
			b.start() // its join changes the version of the mark
		}
	}
	return s
}

func leadBeforeBegin(w *World) driver {
	died := false
	return leadTaken(w, w.members[0], atTrigger, func(mu protocol.Mutation) bool {
		_, ok := mu.(protocol.Begin)
		if ok = ok && settledIn(w); ok && !died {
			died = true
			w.after(1, w.jvms[1].dies) // makes items move
		}
		return ok
	})
}

// atTrigger and atInstant say when the foreign leader assigns. A trigger writes its
// instance, which a Reshard checks.
const (
	atTrigger = true
	atInstant = false
)

// leadTaken delays the first transaction of that kind that a sends.
func leadTaken(w *World, a *member, triggered bool, which func(protocol.Mutation) bool) driver {
	sent, assigned, reached := false, false, false
	p := w.jvms[0]
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if m != a || sent || !which(mu) {
			return
		}
		sent = true
		w.after(1, w.unseat)
		if !triggered {
			w.slowLine(a, w.untilTick(nil)+second)
			return
		}
		w.slowLine(a, 1500*millisecond)
		w.after(300*millisecond, func() { w.tool(protocol.RequestTrigger{To: []protocol.ID{p.id()}}) })
	}, change: func(old, now *protocol.View) {
		if sent && !assigned && theyLead(now) && old.Necessary && !now.Necessary {
			assigned = true
			w.after(1, func() { w.tool(protocol.MarkReshard{}) })
		}
		reached = reached || assigned && now.Necessary && a.commit != nil
	}}
}

// formerLeaderAssigns: a foreign leader that was asked to assign waits for a run, and is
// frozen then. When it thaws, it assigns items to the members of before, although one of
// ours leads and has assigned them.
func formerLeaderAssigns(w *World) driver {
	a, b, p := w.members[0], w.members[1], w.jvms[0]
	asked, slow, deposed, sent, reached := false, false, false, false, false
	depose := func() {
		deposed = true
		p.freeze()
		b.dies()
		w.unseat()
	}
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		_, begins := mu.(protocol.Begin)
		switch v := w.ledger.v; {
		case !asked && settledIn(w) && m == b && !begins:
			asked = true
			w.after(300*millisecond, func() { w.tool(protocol.RequestTrigger{To: []protocol.ID{b.st.Self()}}) })
		case asked && !slow && m == b && begins:
			slow, w.slowJobs = true, 1
			w.after(100*millisecond, func() {
				w.slowJobs = 0
				w.tool(protocol.MarkReshard{})
				w.after(w.untilTick(nil)+second, depose)
			})
		case deposed && !sent && m == a && begins && !v.Necessary && v.Items[0].OwnerVer > 0:
			sent = true
			w.slowLine(a, 1500*millisecond)
			w.after(1, func() {
				w.tool(protocol.MarkReshard{})
				p.thaw()
			})
		}
	}, change: func(old, now *protocol.View) {
		reached = reached || sent && a.commit != nil && old.Necessary && !now.Necessary
	}}
}
