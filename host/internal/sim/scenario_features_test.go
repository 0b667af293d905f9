package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// scenariosOfFeatures have what only some jobs with members of 3.0.4 have.
func scenariosOfFeatures() []scenario {
	return []scenario{
		{"members of 3.0.4 wait in rounds for one of ours", func(w *World) {
			twoOfTheirs(w)
			w.config.ShardingTotalCount, w.config.Cron = 5, cronOf(3)
			w.roundWait = 2 * second
			w.options.Started = true
		}, waitInRounds},
		{"one of ours creates the last node of a round while a member of 3.0.4 looks for its own", func(w *World) {
			w.plain(20, 4)
			w.theirs("10.0.0.10", 0)
			w.ours(1, 5)
			w.roundWait = 3 * second
		}, lastNodeMeanwhile},
		{"the items of a job stay with members of 3.0.4 for a while", func(w *World) {
			w.plain(4, 3)
			w.theirs("10.0.0.10", 0)
			w.ours(1, 5).admitted.file = w.fileOf(1)
			w.ours(2, 7).admitted.file = w.fileOf(2)
		}, staticForAWhile},
		{"a server beside members of 3.0.4 has a clock that the job does not allow", func(w *World) {
			twoOfTheirs(w)
			w.config.ShardingTotalCount, w.config.Cron = 5, cronOf(3)
			w.config.MaxTimeDiffSeconds, w.missets = 1, true
		}, wrongForAWhile},
	}
}

// waitInRounds: nobody waits in vain, whoever creates the last node.
func waitInRounds(w *World) driver {
	reached, byOurs, byTheirs := false, 0, 0
	over := func(old, now protocol.Round) bool { return old.Exists && !now.Exists }
	vain := func() int { return w.jvms[0].expired + w.jvms[1].expired }
	before := -1
	return driver{reached: &reached, change: func(old, now *protocol.View) {
		if !settledIn(w) {
			return
		}
		if before < 0 {
			before = vain()
		}
		if vain() > before {
			w.breach("rounds", "a member has waited in vain")
		}
		if over(old.Guarantee.Started, now.Guarantee.Started) || over(old.Guarantee.Completed, now.Guarantee.Completed) {
			if w.ledger.roundsOver[w.nodes.started].by != nil || w.ledger.roundsOver[w.nodes.completed].by != nil {
				byOurs++
			} else {
				byTheirs++
			}
		}
		reached = byOurs > 0 && byTheirs > 0
	}}
}

// lastNodeMeanwhile: the nodes of ours come earlier or later, so sometimes just when the other member
// has created its own and looks for them.
func lastNodeMeanwhile(w *World) driver {
	p, reached := w.jvms[0], false
	late := 60 * millisecond
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if j, ok := mu.(protocol.JoinRound); ok && j.Event == protocol.FireStarted && len(j.Items) > 0 && settledIn(w) {
			w.slowLine(m, late)
			late += 8 * millisecond
		}
		reached = late > 120*millisecond
		if p.stuck {
			w.breach("rounds", "%s does not see its own nodes", p.name())
		}
	}}
}

// staticForAWhile: while staticSharding is true, members of ours are not in the job, and the leader asks
// for no reshard when one of 3.0.4 comes.
func staticForAWhile(w *World) driver {
	reached, static := false, false
	at := func(seconds int64, do func()) { w.at((startTime+seconds)*second, do) }
	joined := func(want bool) {
		for _, m := range w.members {
			if is := m.st != nil && registered(w.ledger.v, m.st.Self()) != nil; is != want {
				w.breach("admission", "%s is a member: %v", m.name(), !want)
			}
		}
	}
	at(28, func() { joined(true); w.putStatic(true) })
	at(33, func() { joined(false); static = true; w.theirs("10.0.1.1", 0) })
	at(45, func() { joined(false); static = false; w.putStatic(false) })
	at(55, func() {
		joined(true)
		reached = true
		for _, in := range w.ledger.v.Instances {
			if !owns(w.ledger.v, in.ID) {
				w.breach("admission", "%s has no item", in.ID)
			}
		}
	})
	return driver{reached: &reached, change: func(old, now *protocol.View) {
		if static && now.Necessary && !old.Necessary {
			w.breach("static sharding", "somebody asks for a reshard")
		}
	}}
}

func owns(v *protocol.View, id protocol.ID) bool {
	for _, it := range v.Items {
		if it.Owner == id {
			return true
		}
	}
	return false
}

// wrongForAWhile: the server begins nothing while its clock is wrong. The others go on.
func wrongForAWhile(w *World) driver {
	a := w.members[0]
	reached, began := false, false
	w.at((startTime+28)*second, func() { w.showClock(a, spelling.MaxSkew(1)+500) })
	w.at((startTime+38)*second, func() { w.showClock(a, 0) })
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		b, ok := mu.(protocol.Begin)
		began = ok && len(b.Begun) > 0
		if now := w.now - startTime*second; began && m == a && now > 28*second+1 {
			if now < 38*second {
				w.breach("the time", "%s begins items %v by a wrong clock", m.name(), b.Begun)
			}
			reached = true
		}
	}}
}
