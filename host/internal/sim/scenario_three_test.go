package sim

import (
	"bytes"
	"path"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Scenarios beside members of 3.0.4: what outlives a session there, and who takes it over.

// inLayout3 is the world of a scenario in layout 3.
func inLayout3() *World {
	p := fair()
	p.layout = job.Layout3
	return newWorld(1, drawn(1), p, nil)
}

func scenariosOfLayout3() []scenario {
	return []scenario{
		{"a member of 3.0.4 takes over what ours was running", oneOfTheirs, takenByTheirs},
		{"what a member of 3.0.4 had taken over is taken over again", twoOfTheirs, takerDies},
		{"a member of 3.0.4 dies in a run after failover was switched off", twoOfTheirs, diesWithoutFailover},
		{"a member of 3.0.4 takes over before ours has made the run pending", func(w *World) {
			w.plain(2, 9)
			w.theirs("10.0.0.10", 0)
			w.ours(1, 5)
			w.ours(2, 7)
		}, takenBeforePending},
		{"a member of 3.0.4 comes back alone to what it was running", func(w *World) {
			w.plain(2, 9)
			w.theirs("10.0.0.10", 0)
			w.ours(1, 5)
		}, comesBackAlone},
	}
}

// notIn3 are the scenarios that tell of layout 2.1 alone, with the reason.
var notIn3 = map[string]string{
	"a class changes, and a member of ElasticJob comes and goes":                       "the class is elsewhere",
	"a member of ElasticJob comes back while its runs become pending":                  "3.0.4 takes them first",
	"who got an item begins it while somebody makes its last run pending":              "3.0.4 takes it first",
	"a member of ElasticJob dies in a run":                                             "3.0.4 takes it first",
	"who joins finds what a member of ElasticJob wants run again, though it had ended": "3.0.4 wants nothing run again that had ended",
	"runs that began and ended at different times do not fit into the record":          "its sizes are of 2.1",
}

// scenesIn3 are the scenarios that are played in layout 3.
func scenesIn3() []scenario {
	of21 := func(sc scenario) bool { return notIn3[sc.name] != "" }
	return slices.Concat(slices.DeleteFunc(scenarios(), of21), scenariosOfLayout3(), scenariosOfFeatures())
}

func TestScenariosInLayout3(t *testing.T) {
	t.Parallel()
	for _, sc := range scenesIn3() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			r, reached := sc.playIn(inLayout3())
			if r.Breach == nil && reached {
				return
			}
			var trace bytes.Buffer
			w := inLayout3()
			w.trace = &trace
			sc.playIn(w)
			t.Errorf("reached its point: %v, broke: %v; the end of its trace:\n%s", reached, r.Breach, lastLines(trace.String()))
		})
	}
	for name := range notIn3 {
		if !slices.ContainsFunc(scenarios(), func(sc scenario) bool { return sc.name == name }) {
			t.Errorf("there is no scenario %q", name)
		}
	}
}

// takenByTheirs: a member of ours dies in a run. The only other member is one of 3.0.4,
// which knows by the mark that the item was running, whatever its address.
func takenByTheirs(w *World) driver {
	p, a := w.jvms[0], w.members[0]
	reached, item := false, -1
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		i := slices.IndexFunc(now.Items, func(it protocol.Item) bool { return a.st != nil && it.Running == int64(a.s.id) })
		if i >= 0 && item < 0 && settledIn(w) {
			item = i
			w.after(1, a.dies)
			w.after(12*second, func() { a.retired = false; a.start() })
			w.after(10*second, func() {
				if !reached {
					w.breach("orphans", "nobody has run item %d again", item)
				}
			})
		}
		reached = reached || item >= 0 && now.Items[item].Failover == p.id()
	}}
}

// takerDies: who has taken over a run of a dead member dies, too. Nothing but what it wrote
// beside its own mark tells what it ran.
func takerDies(w *World) driver {
	p, q := w.jvms[0], w.jvms[1]
	reached, item := false, -1
	var taker *jvm
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		if item < 0 {
			i := slices.IndexFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(q.s.id) })
			if i < 0 || !settledIn(w) {
				return
			}
			item, w.slowJobs = i, 1
			w.after(1, q.dies)
			w.after(12*second, func() {
				if !reached {
					w.breach("orphans", "nobody has run item %d again", item)
				}
			})
			return
		}
		it := now.Items[item]
		if taker == nil && it.Failover == p.id() && it.Running == int64(p.s.id) {
			taker = p
			w.after(100*millisecond, p.dies)
		}
		reached = reached || taker != nil && it.Running == int64(w.members[0].s.id)
	}}
}

// comesBackAlone: all die, a member of 3.0.4 in a run. It comes back by another id.
func comesBackAlone(w *World) driver {
	p, a := w.jvms[0], w.members[0]
	reached, dead := false, false
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		runs := slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(p.s.id) })
		if runs && !dead && settledIn(w) {
			dead = true
			w.after(1, func() {
				a.dies()
				p.dies()
			})
			w.after(2*second, func() { p.retired = false; p.start() })
			w.after(9*second, func() { a.retired = false; a.start() })
		}
		reached = reached || dead && slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Failover == p.id() })
	}}
}

// diesWithoutFailover: the mark of a run that was made while failover was on stays when its
// member dies, and nobody wants the item run again.
func diesWithoutFailover(w *World) driver {
	q := w.jvms[1]
	reached, off := false, false
	return driver{reached: &reached, change: func(_, now *protocol.View) {
		runs := slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Running == int64(q.s.id) })
		if runs && !off && settledIn(w) {
			off, w.config.Failover = true, false
			w.after(1, func() { w.tool(protocol.PutConfig{Config: spelling.Text(w.encoded())}) })
			w.after(60*millisecond, q.dies)
		}
		reached = reached || slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return it.Abandoned })
	}}
}

// takenBeforePending: a member of ours dies in a run. While the other one makes the run
// pending, a member of 3.0.4 has taken the item over and runs it.
func takenBeforePending(w *World) driver {
	a, b := w.members[0], w.members[1]
	dead, reached := false, false
	w.atSecond(20, func() { // there have been such runs before
		for _, p := range []string{path.Dir(w.nodes.pending), w.nodes.pending} {
			w.apply(nil, []registry.Op{{Kind: registry.Create, Path: p}}, origin{what: "a parent"})
		}
	})
	return driver{reached: &reached, sending: func(m *member, mu protocol.Mutation) {
		if r, ok := mu.(protocol.Reclaim); ok && m == b && len(r.Pend) > 0 && !reached {
			reached = true
			w.slowLine(b, 500*millisecond)
		}
	}, change: func(_, now *protocol.View) {
		runs := slices.ContainsFunc(now.Items, func(it protocol.Item) bool { return a.st != nil && it.Running == int64(a.s.id) })
		if runs && !dead && settledIn(w) {
			dead, w.slowJobs = true, 1
			w.after(5*millisecond, a.dies)
		}
	}}
}
