package sim

import (
	"path"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// scenariosOfSeeds are courses of events that chance produced once in many thousand seeds.
func scenariosOfSeeds() []scenario {
	return []scenario{
		{"a part of the leader before arrives ahead of the next assignment", func(w *World) {
			w.plain(6, 9)
			w.options.MaxNodes = 4
			w.ours(1, 0)
			w.ours(2, -1)
		}, partOfFormerLeader},
		{"a member of ElasticJob comes back slowly", twoOfTheirs, comesBackSlowly},
		{"a member of ElasticJob comes back while its runs become pending", twoOfTheirs, comesBackMeanwhile},
		{"what is left to members of ElasticJob is left again while it gets a name", twoOfTheirs, leftAgain},
		{"a server is enabled while a leader of ElasticJob begins to deal", func(w *World) {
			w.plain(3, 9)
			w.theirs("10.0.0.10", 0)
			w.theirs("10.0.1.1", 1)
			w.ours(1, 5)
		}, enabledDuringAssignment},
		{"the total shrinks while nobody leads", func(w *World) {
			w.plain(4, 1)
			w.ours(2, 0)
			w.ours(1, 2)
		}, shrinksLeaderless},
		{"an item is enabled while its instant is told as completed", func(w *World) {
			w.plain(2, 3)
			w.config.Misfire = true
			w.options.Started, w.options.Completed = true, true
			w.ours(1, 0)
			w.ours(2, 1)
		}, enabledLate},
		{"an operator is late to disable a server", func(w *World) {
			w.plain(2, 3)
			w.timeout = second
			w.ours(1, 0)
			w.ours(1, 1)
			w.ours(1, 2)
		}, disabledLate},
	}
}

// partOfFormerLeader: while the first part of a job's first reshard is on its way,
// another member leads and assigns the items otherwise. The part arrives just before
// that.
func partOfFormerLeader(w *World) driver {
	a, b := w.members[0], w.members[1]
	company, part, next, reached := false, false, false, false
	owned := func(it protocol.Item) bool { return it.Owner != "" }
	return driver{reached: &reached, change: func(old, now *protocol.View) {
		reached = reached || next && !slices.ContainsFunc(old.Items, owned) && slices.ContainsFunc(now.Items, owned)
		next = next && old.Assignment.Version == now.Assignment.Version
	}, sending: func(m *member, mu protocol.Mutation) {
		switch mu := mu.(type) {
		case protocol.Owners:
			if m == a && !part && len(mu.Write) > 0 {
				part = true
				w.slowLine(a, 500*millisecond)
				w.jvms[0].freeze() // otherwise it would lead
				w.after(2*second, w.jvms[0].thaw)
				w.after(1, func() {
					w.unseat()
					w.tool(protocol.DisableServer{IP: a.ip, Disabled: true})
				})
			}
		case protocol.Reshard:
			switch {
			case m == a && !company:
				company = true
				w.slowLine(a, 500*millisecond)
				w.theirs("10.0.1.1", 0)
				b.start()
			case m == b && part && !next && !reached:
				next = true
				w.slowLine(b, 700*millisecond)
			}
		default:
		}
	}}
}

// comesBackSlowly: a foreign member whose session ended during a run writes its server's
// node, and creates its instance much later. The member that would take the run does not
// see that.
func comesBackSlowly(w *World) driver {
	q, a := w.jvms[1], w.members[0]
	gone, reached := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.ReclaimForeign); ok && reached {
			w.slowLine(a, 300*millisecond)
		}
	}, change: func(old, now *protocol.View) {
		runs := slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(q.s.id) })
		switch {
		case runs && !gone && settledIn(w):
			gone = true
			q.freeze()
			w.after(50*millisecond, func() { w.endSession(q.s) }) // every member has seen the mark by then
			w.after(350*millisecond, q.thaw)
			w.after(650*millisecond, q.thaw)
		case gone && !reached && !slices.Equal(old.Servers, now.Servers):
			reached = true
			q.freeze()
		}
	}}
}

// enabledDuringAssignment: a foreign leader has listed the members and is about to assign
// items when a server is enabled. All requests for another reshard disappear with that
// reshard.
func enabledDuringAssignment(w *World) driver {
	p, a := w.jvms[0], w.members[0]
	w.at((1_700_000_000+28)*second, func() { w.tool(protocol.DisableServer{IP: a.ip, Disabled: true}) })
	w.at((1_700_000_000+46)*second+10*millisecond, func() { // it has listed the members
		p.freeze()
		w.tool(protocol.DisableServer{IP: a.ip})
		w.after(100*millisecond, p.thaw)
	})
	reached := false
	return driver{reached: &reached, change: func(old, now *protocol.View) {
		enabled := w.now > (1_700_000_000+46)*second+11*millisecond && w.now < (1_700_000_000+47)*second
		if enabled && old.Necessary && !now.Necessary {
			reached = reached || !slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Owner == a.st.Self() })
		}
	}}
}

// shrinksLeaderless: the leader dies, and the total shrinks before another member notices.
// The surplus item has an owner, which need not begin it.
func shrinksLeaderless(w *World) driver {
	reached := false
	w.at((1_700_000_000+110)*second, func() {
		reached = w.orderly
		w.ledger.killed = w.now
		w.members[0].crash()
		w.config.ShardingTotalCount--
		w.tool(protocol.PutConfig{Config: spelling.Text(w.encoded())})
		w.after(8*second, w.members[0].start)
	})
	return driver{reached: &reached}
}

// enabledLate: an item that was disabled when its instant was reported as started is
// enabled while that is reported as completed, and begins it.
func enabledLate(w *World) driver {
	a := w.members[0]
	w.at((1_700_000_000+25)*second, func() {
		w.tool(protocol.DisableItem{Item: 0, Disabled: true})
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: w.nodes.item(0, markMisfire)}}, origin{what: "somebody marks a misfire"})
	})
	sent, reached := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if t, ok := mu.(protocol.SetFires); ok && m == a && t.Next.Completed.By != "" && !sent && w.now > (1_700_000_000+28)*second {
			sent = true
			w.slowLine(a, 100*millisecond)
			w.after(1, func() { w.tool(protocol.DisableItem{Item: 0}) })
		}
	}, change: func(_, now *protocol.View) {
		reached = reached || sent && a.commit != nil && now.Items[0].Running != 0
	}}
}

// comesBackMeanwhile: a foreign member whose session ended during a run comes back while
// the run becomes pending.
func comesBackMeanwhile(w *World) driver {
	q, a := w.jvms[1], w.members[0]
	gone, reached := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.ReclaimForeign); ok && !reached {
			reached = true
			w.slowLine(a, 300*millisecond)
			w.after(1, q.thaw)
		}
	}, change: func(_, now *protocol.View) {
		if !gone && settledIn(w) && slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(q.s.id) }) {
			gone = true
			q.freeze()
			w.after(50*millisecond, func() { w.endSession(q.s) }) // every member has seen the mark by then
		}
	}}
}

// leftAgain: a run that a foreign member left to other foreign members is taken, and left
// again, while a member of ours reclaims it.
func leftAgain(w *World) driver {
	q, a := w.jvms[1], w.members[0]
	waits := func(kinds ...registry.OpKind) {
		for _, k := range kinds {
			w.apply(nil, []registry.Op{{Kind: k, Path: w.nodes.pending + "/0", Version: registry.AnyVersion}}, origin{what: "somebody of ElasticJob"})
		}
	}
	w.at((1_700_000_000+27)*second, q.freeze) // so that the item does not run
	w.at((1_700_000_000+28)*second+100*millisecond, func() {
		for _, p := range []string{path.Dir(w.nodes.pending), w.nodes.pending} {
			w.apply(nil, []registry.Op{{Kind: registry.Create, Path: p}}, origin{what: "somebody of ElasticJob"})
		}
		waits(registry.Create)
	})
	w.at((1_700_000_000+30)*second, q.thaw)
	reached := false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.ReclaimForeign); ok && m == a && !reached {
			reached = true
			w.slowLine(a, 200*millisecond)
			w.after(100*millisecond, func() { waits(registry.Delete, registry.Create) })
		}
	}}
}

// disabledLate: an operator disables a server without a member during the calm, though no
// operator would enable it again.
func disabledLate(w *World) driver {
	a := w.members[0]
	reached := false
	w.at((1_700_000_000+59)*second, func() {
		reached = true
		a.crash()
		for range 20 {
			for a.retired = false; !w.retire(a); {
			}
		}
	})
	return driver{reached: &reached}
}
