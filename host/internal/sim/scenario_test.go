package sim

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// scenario is a course of events that chance hardly produces: too much has to coincide. Once
// it reaches a certain point, nothing fails except what the scenario makes fail. The ledger
// checks it like any other.
type scenario struct {
	name string
	set  func(*World) // settings and members
	// driver decides what happens, and when.
	driver func(*World) driver
}

func TestScenarios(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			r, reached := sc.play(nil)
			if reached && r.Breach == nil {
				return
			}
			var trace bytes.Buffer
			sc.play(&trace)
			t.Fatalf("reached its point: %v, broke: %v; the end of its trace:\n%s", reached, r.Breach, lastLines(trace.String()))
		})
	}
}

func scenarios() []scenario {
	return slices.Concat(admissionScenarios(), definedScenarios(), scenariosOfSeeds(), leftScenarios(), leaveScenarios(), bytesScenarios(), clockScenarios(), fateScenarios(), missedScenarios(), retryScenarios(), leadScenarios(), pauseScenarios(), tallyScenarios(), []scenario{
		{"a member dies while a leader of ElasticJob deals", func(w *World) {
			w.plain(9, 2)
			w.config.Failover = false
			w.theirs("10.0.0.10", 0)
			w.theirs("10.0.1.1", 1)
			w.ours(1, 6)
		}, diesDuringAssignment},
		{"a mark that no session held goes, and somebody new begins", func(w *World) {
			w.plain(1, 2)
			w.ours(1, 0)
			w.ours(2, 5)
			w.ours(3, -1)
		}, newcomerBegins},
		{"a member of ElasticJob takes over while failover is switched off", oneOfTheirs, takenTooLate},
		{"a run is taken while its item is adopted, and another deal comes", func(w *World) {
			w.plain(2, 9)
			w.options.MaxUnstored = 500 // no record is written for a few rows alone
			w.theirs("10.0.0.10", 0)
			w.ours(1, 5)
			w.ours(2, 7)
			w.ours(3, 9)
		}, takenBeforeAdopted},
		{"a leader of ElasticJob deals while a begin is on its way", twoOfTheirs, assignedBeforeBegun},
		{"who got an item begins it while somebody makes its last run pending", func(w *World) {
			w.plain(2, 3)
			w.theirs("10.0.0.10", 0)
			w.theirs("10.0.1.1", 1)
			w.ours(1, 5)
			w.ours(2, 7)
		}, begunBeforePending},
		{"a member of ElasticJob dies in a run", twoOfTheirs, diesInRun},
		{"an owner is written while a begin is on its way", oneOfTheirs, ownerWritten("begin")},
		{"an owner is written while an adoption is on its way", oneOfTheirs, ownerWritten("adopt")},
		{"a request is made of who loses an item while that is adopted", func(w *World) {
			w.plain(2, 9)
			w.theirs("10.0.0.10", 0)
			w.ours(1, 5)
			w.ours(2, 14)
		}, askedBeforeAdopted},
		{"who is to adopt is frozen for longer than anybody waits", func(w *World) {
			w.plain(2, 9)
			w.options.ReshardWait = 1000
			w.theirs("10.0.0.10", 0)
			w.theirs("10.0.1.1", 1)
			w.ours(1, 5).timeout = 60 * second
			w.ours(2, 7)
		}, frozenAdopter},
		{"runs that are longer than the wait, and overlap, keep no reshard away", func(w *World) {
			w.plain(24, 3) // so many items that those to be moved are never all idle by chance
			w.profile.long = [2]int64{8000, 14_000}
			w.slowJobs = 1
			w.options.ReshardWait = 1000
			w.ours(1, 0)
			w.ours(2, 22)
		}, reshardsDuringLongRuns},
		{"such runs keep no leader of ElasticJob from dealing either", func(w *World) {
			w.plain(24, 3)
			w.profile.long = [2]int64{8000, 14_000}
			w.slowJobs = 1
			w.options.ReshardWait = 1000
			w.theirs("10.0.0.10", 0)
			w.ours(1, 2)
			w.ours(2, 22)
		}, reshardsDuringLongRuns},
		{"a server of the registry is replaced and does not know it", func(w *World) {
			w.plain(2, 20)
			w.slowJobs, w.profile.long = 1, [2]int64{15_000, 15_001}
			w.ours(1, 0)
			w.ours(2, 5)
		}, replacedUnknowing},
		{"a session is there long after it was asked for", func(w *World) {
			w.plain(2, 9)
			w.ours(1, 0).opening = 3 * second
		}, openedLate},
	})
}

// play runs a scenario and reports whether it came to its point.
func (sc *scenario) play(trace io.Writer) (Result, bool) {
	return sc.playIn(newWorld(1, drawn(1), fair(), trace))
}

func (sc *scenario) playIn(w *World) (Result, bool) {
	w.setup()
	sc.set(w)
	w.options.Define.Config = spelling.Text(w.encoded())
	w.driver = sc.driver(w)
	r := w.play()
	return r, *w.driver.reached
}

// fair is a profile without faults.
func fair() profile {
	return profile{
		name: "fair", items: [2]int64{1, 2}, members: [2]int64{1, 2}, timeout: [2]int64{4000, 4001}, period: [2]int64{9, 10},
		trouble: [2]int64{60, 61}, slow: []float64{0}, slowJobs: []float64{0}, long: [2]int64{3000, 3001}, monitor: 1, slots: []int{0},
		wait: [2]int64{5000, 5001},
	}
}

// ours adds a member that starts after some seconds; host is the last part of its
// address.
func (w *World) ours(host int, after int64) *member {
	m := &member{w: w, label: string(rune('A' + len(w.members))), ip: fmt.Sprintf("10.0.0.%d", host), pid: 1, timeout: w.timeout}
	w.members = append(w.members, m)
	if after >= 0 {
		w.after(after*second, m.start)
	}
	return m
}

// theirs adds a foreign member.
func (w *World) theirs(ip string, after int64) {
	j := &jvm{w: w, label: string(rune('P' + len(w.jvms))), ip: ip, pid: 100 * (len(w.jvms) + 1), timeout: w.timeout}
	w.jvms = append(w.jvms, j)
	w.after(after*second, j.start)
}

// dies ends a foreign process and its session at once.
func (j *jvm) dies() {
	s := j.s
	j.retired = true
	j.exit()
	j.w.after(1, func() { j.w.endSession(s) })
}

// dies ends a process and its session at once.
func (m *member) dies() {
	s := m.s
	m.retired = true
	m.crash()
	m.w.after(1, func() { m.w.endSession(s) })
}

// plain sets the settings that the scenarios have in common.
func (w *World) plain(items int32, period int64) {
	c := &w.config
	c.ShardingTotalCount, c.Cron = items, cronOf(period)
	c.Failover, c.Misfire, c.MonitorExecution, c.JobShardingStrategyClass = true, false, true, ""
	c.MaxTimeDiffSeconds, c.ReconcileIntervalMinutes = -1, 0
	w.options = protocol.Options{ReshardWait: 5000}
}

// settledIn reports whether the members of a scenario have had time to settle, and the calm
// has not begun.
func settledIn(w *World) bool { return w.now > (1_700_000_000+25)*second && !w.calm }

// diesDuringAssignment: a request for another reshard is removed with the one that is
// being carried out, and no foreign member asks again.
func diesDuringAssignment(w *World) driver {
	reached := false
	return driver{reached: &reached, change: func(old, now *protocol.View) {
		if !reached && now.Processing && !old.Processing && len(now.Members) > 0 {
			reached = true
			w.after(1, w.jvms[1].dies)
		}
	}}
}

// newcomerBegins: the leader clears a mark without a session. Before that arrives,
// another writer removes the mark, another member leads, and a third one gets the item
// and begins it.
func newcomerBegins(w *World) driver {
	a, c := w.members[0], w.members[2]
	w.at((1_700_000_000+25)*second, func() {
		w.slowJobs = 1
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: w.nodes.item(0, markRunning)}}, origin{what: "somebody marks an item"})
	})
	reached := false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if c, ok := mu.(protocol.ClearMarks); !ok || m != a || reached || len(c.Check) == 0 {
			return
		}
		reached = true
		w.slowLine(a, w.untilTick(nil)+500*millisecond)
		w.apply(nil, []registry.Op{{Kind: registry.Delete, Path: w.nodes.item(0, markRunning), Version: registry.AnyVersion}}, origin{what: "somebody takes a mark away"})
		c.start()
		w.after(20*millisecond, w.unseat)
	}}
}

// takenBeforeAdopted: a foreign leader assigns an item with a pending run, which is taken
// just before the adoption. After the run the item is adopted at last, and the leader
// assigns again before that arrives.
func takenBeforeAdopted(w *World) driver {
	p, a, d := w.jvms[0], w.members[0], w.members[2]
	dead, taken, reached := false, false, false
	trigger := func() { w.tool(protocol.RequestTrigger{To: []protocol.ID{p.id()}}) }
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		switch mu.(type) {
		case protocol.Complete:
			if m == d && !dead && settledIn(w) {
				dead = true
				w.after(1, func() {
					w.tool(protocol.SetPaused{Paused: true})
					d.dies()
				})
				w.after(700*millisecond, trigger)
			}
		case protocol.Adopt:
			switch {
			case m != a || !dead || reached:
			case len(w.ledger.v.Pending) > 0:
				taken = true
				w.slowLine(a, 1500*millisecond)
				w.slowJobs = 1
				w.after(1, func() { w.tool(protocol.SetPaused{}) })
			case taken && a.st.View().Sealed:
				reached = true
				w.slowLine(a, 1500*millisecond)
				w.after(1, func() { w.theirs("10.0.1.1", 0) })
				w.after(700*millisecond, trigger)
			}
		default:
		}
	}}
}

// assignedBeforeBegun: an item moves to a foreign member, which runs it to its end, all
// while a begin of it is on its way. The owner's node is a new one with the version of
// the old.
func assignedBeforeBegun(w *World) driver {
	p, q, a := w.jvms[0], w.jvms[1], w.members[0]
	reached, dead := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.Begin); ok && !dead && settledIn(w) {
			dead = true
			w.slowLine(a, 2500*millisecond)
			w.after(400*millisecond, q.dies)
			w.after(700*millisecond, func() { w.tool(protocol.RequestTrigger{To: []protocol.ID{p.id()}}) })
		}
	}, change: func(old, now *protocol.View) {
		reached = reached || dead && old.Processing && !now.Processing && a.commit != nil
	}}
}

// frozenAdopter: no member adopts the assignment. Members that wait for that must begin
// nothing, since the items may be assigned again first.
func frozenAdopter(w *World) driver {
	p, q, a, b := w.jvms[0], w.jvms[1], w.members[0], w.members[1]
	reached, frozen := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		switch mu.(type) {
		case protocol.Complete:
			if !frozen && settledIn(w) {
				frozen = true
				a.freeze()
				w.tool(protocol.MarkReshard{})
				w.after(15*second, a.thaw)
			}
		case protocol.Begin:
			if reached && a.frozen {
				w.slowLine(b, 2500*millisecond)
				w.after(1, q.dies)
				w.after(300*millisecond, func() { w.tool(protocol.RequestTrigger{To: []protocol.ID{p.id()}}) })
			}
		default:
		}
	}, change: func(old, now *protocol.View) {
		reached = reached || frozen && old.Processing && !now.Processing && !now.Sealed
	}}
}

// begunBeforePending: a foreign member dies with an open run, and its item moves to one
// of ours, which begins the next instant just before the old run becomes pending. The old
// run would be accounted for twice.
func begunBeforePending(w *World) driver {
	p, q, a := w.jvms[0], w.jvms[1], w.members[0]
	reached, dead := false, false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if _, ok := mu.(protocol.ReclaimForeign); ok && m == a && dead && !reached {
			reached = true
			w.slowLine(a, w.untilTick(nil)+300*millisecond)
		}
	}, change: func(old, now *protocol.View) {
		if i := slices.IndexFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(q.s.id) }); i < 0 || dead || !settledIn(w) {
			return
		}
		dead, w.slowJobs = true, 1
		w.after(5*millisecond, func() { w.slowJobs = 0 })
		w.after(100*millisecond, q.dies)
		w.after(320*millisecond, func() { w.tool(protocol.RequestTrigger{To: []protocol.ID{p.id()}}) })
	}}
}

// diesInRun: the open run of a foreign member that died runs again.
func diesInRun(w *World) driver {
	q := w.jvms[1]
	reached, item, again := false, -1, false
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		i := slices.IndexFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(q.s.id) })
		if i >= 0 && !reached && settledIn(w) {
			reached, item = true, i
			w.after(100*millisecond, q.dies)
			w.after(10*second, func() {
				if !again {
					w.breach("orphans", "nobody has run item %d again", item)
				}
			})
		}
		for _, r := range now.Runs {
			again = again || slices.ContainsFunc(r.Open, func(e protocol.Entry) bool { return e.Item == item && e.Attempt > 1 })
		}
	}}
}

func twoOfTheirs(w *World) {
	w.plain(2, 9)
	w.theirs("10.0.0.10", 0)
	w.theirs("10.0.1.1", 1)
	w.ours(1, 5)
}

func oneOfTheirs(w *World) {
	w.plain(2, 3)
	w.theirs("10.0.0.10", 0)
	w.ours(1, 5)
}

// ownerWritten: just before a transaction arrives that depends on an item's owner, a tool
// gives the item away.
func ownerWritten(name string) func(*World) driver {
	return func(w *World) driver {
		p, a := w.jvms[0], w.members[0]
		reached := false
		return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
			i := slices.IndexFunc(w.ledger.v.Items, func(it protocol.Item) bool { return it.Owner == a.st.Self() })
			if reached || mu.Name() != name || i < 0 {
				return
			}
			reached = true
			w.slowLine(m, 200*millisecond)
			w.apply(nil, []registry.Op{{Kind: registry.Set, Path: w.nodes.item(i, markOwner), Data: []byte(p.id()), Version: registry.AnyVersion}}, origin{what: "somebody writes an owner"})
		}}
	}
}

// askedBeforeAdopted: an operator triggers the job while an adoption that takes an item
// from a member of ours is on its way.
func askedBeforeAdopted(w *World) driver {
	reached := false
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		adopt, ok := mu.(protocol.Adopt)
		if !ok || reached {
			return
		}
		v := m.st.View()
		for i, from := range v.Assignment.Owners {
			if from != adopt.Next.Owners[i] && alive(v, from) {
				reached = true
				w.slowLine(m, 200*millisecond)
				w.tool(protocol.RequestTrigger{To: []protocol.ID{from}})
				return
			}
		}
	}}
}
