package golden

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	hosts "github.com/wasmjob/wasmjob/host/internal/cluster"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// servedScripts replay the scenarios with real hosts.
var servedScripts = map[string]func(*served){
	"basic":           servedBasic,
	"disable":         servedDisable,
	"totals":          servedTotals,
	"misfire":         servedMisfire,
	"trigger":         servedTrigger,
	"shutdown":        servedShutdown,
	"failover_one_ip": servedFailover,
	"once":            servedOnce,
}

// TestServed checks that on a real ZooKeeper the flows differ from the recorded ones
// exactly as in the simulated replay, and keep the same order.
func TestServed(t *testing.T) { //nolint:tparallel // the flows are parallel, what judges all of them waits
	t.Parallel()
	// The tick is a second, so that no session is lost on a busy machine.
	server := zktest.Start(t, zktest.Debian(t), zktest.Options{Tick: time.Second})
	plays := make([]*play, len(scenarios))
	t.Run("flows", func(t *testing.T) {
		for k, s := range scenarios {
			t.Run(s.file, func(t *testing.T) {
				t.Parallel()
				p := serve(t, server, s.file, servedScripts[s.file])
				p.check(t)
				for _, r := range rules {
					p.checkRule(t, r)
				}
				t.Logf("%d flows, %d moments", len(p.scenes), len(p.glances))
				plays[k] = p
			})
		}
	})
	byFile := map[string]*play{}
	for _, p := range plays {
		if p == nil {
			return // it failed or was not run
		}
		byFile[p.rec.file] = p
	}
	for _, l := range lines {
		if l.seen != nil && l.key != reconnect && !l.seen(t, byFile) {
			t.Errorf("the difference %q is not there", l.key)
		}
	}
}

// mortal is the session timeout of a member that is to be killed: long enough for a busy
// machine, and short enough to wait for.
const mortal = 5 * time.Second

func servedBasic(p *served) {
	p.flow("start of first instance", func() {
		p.start("m1", hosts.Options{})
		p.calm(1)
		p.glance("after start of 1 instance (before its first sharding)")
	})
	p.flow("start of second instance", func() {
		p.start("m2", hosts.Options{})
		p.calm(2)
	})
	p.flow("start of third instance", func() {
		p.start("m3", hosts.Options{})
		p.calm(3)
		p.glance("after start of 3 instances (before the first sharding)")
	})
	p.flow("first tick: sharding of 6 items over 3 instances, then execution", func() {
		p.glance("right after the sharding transaction")
		p.tick()
		p.running(6)
		p.glance("during execution (monitorExecution, all 6 items running)")
		p.end()
		p.glance("after completion")
	})
	p.flow("second tick: execution only (6 items, 3 instances)", func() {
		p.tick()
		p.running(6)
		p.end()
	})
	p.flow("3 s of idling between ticks", func() {})
}

// three starts members on servers of their own.
func (p *served) three() {
	p.t.Helper()
	for k, name := range []string{"m1", "m2", "m3"} {
		p.start(name, hosts.Options{})
		p.calm(k + 1)
	}
}

func servedDisable(p *served) {
	p.three()
	const item = "tick with item 1 disabled"
	p.flow(item, func() {
		p.tool(item, 0)
		p.tick()
		p.running(5)
		p.end()
		p.glance("item 1 disabled, one tick later")
	})
	p.Write(registry.Op{Kind: registry.Delete, Path: p.path(ofItem("disabled", "1")), Version: registry.AnyVersion})
	const off = "disabling a server and the next tick"
	p.flow(off, func() {
		p.tool(off, 0)
		p.calm(2)
		p.glance("server 10.0.0.3 set DISABLED, before the next tick")
		p.tick()
		p.running(6)
		p.end()
		p.glance("server 10.0.0.3 DISABLED, one tick later")
	})
	const on = "enabling it again and the next tick"
	p.flow(on, func() {
		p.tool(on, 0)
		p.calm(3)
		p.tick()
		p.running(6)
		p.end()
	})
	const lead = "disabling the leader's server and the next tick"
	p.flow(lead, func() {
		p.members["m2"].Freeze() // there, m3 was quicker
		p.tool(lead, 0)
		p.Await("another leader", func(s hosts.State) bool { return s.View.Leader == protocol.ID(p.rec.Outputs["m3"].Instance) })
		p.members["m2"].Thaw()
		p.calm(2)
		p.tick()
		p.running(6)
		p.end()
		p.glance("the leader's server (10.0.0.1) DISABLED, one tick later")
	})
}

func servedTotals(p *served) {
	p.anew(p.rec.Moments[0], 6)
	p.three()
	for _, n := range []string{"9", "4"} {
		name := "change of total count to " + n + " and the next tick"
		p.flow(name, func() {
			p.tool(name, 0)
			p.calm(3)
			p.glance("total count set to " + n + ", before the next tick")
			p.tick()
			p.running(map[string]int{"9": 9, "4": 4}[n])
			p.end()
			p.glance("total count " + n + ", one tick later")
		})
	}
	p.flow("change of cron", func() {
		p.tool("change of cron", 0)
		for range 2 {
			p.tick()
			p.running(4)
			p.end()
		}
	})
}

// overrun lets an instant come while both items run, ends the runs, and waits for the
// runs for the misfire.
func (p *served) overrun(during func()) {
	p.t.Helper()
	p.tick()
	s := p.Await("misfire marks", func(s hosts.State) bool {
		return len(s.Guests) == 2 && marked(s.View) == 2 && !slices.ContainsFunc(s.View.Items, func(i protocol.Item) bool { return !i.Misfire })
	})
	during()
	p.End()
	p.Await("the next runs", func(now hosts.State) bool {
		return others(now.Guests, s.Guests) && marked(now.View) == 2 && !slices.ContainsFunc(now.View.Items, misfired)
	})
}

func misfired(i protocol.Item) bool { return i.Misfire }

// others reports whether two guests run that are not in old.
func others(guests, old []job.Call) bool {
	return len(guests) == 2 && !slices.ContainsFunc(guests, func(g job.Call) bool {
		return slices.ContainsFunc(old, func(o job.Call) bool { return o.RunID == g.RunID })
	})
}

func servedMisfire(p *served) {
	p.start("slow", hosts.Options{})
	p.calm(1)
	p.flow("overrunning job, misfire=true, 12 s", func() {
		p.tick()
		p.running(2)
		p.overrun(func() { p.glance("3.5 s into a 4 s run of a 3 s cron") })
		p.overrun(func() {})
		p.overrun(func() {})
	})

	p.anew(p.rec.moment(p.t, "overrunning job, misfire=false"), 0)
	p.start("slow_off", hosts.Options{})
	p.calm(1)
	p.flow("overrunning job, misfire=false, 12 s", func() {
		for range 2 {
			p.tick()
			p.running(2)
			p.idleTick("slow_off")
			p.end()
		}
		p.tick()
		p.running(2)
		p.glance("overrunning job, misfire=false")
	})

	elsewhere := p.rec.Moments[len(p.rec.Moments)-1]
	p.anew(elsewhere, 0)
	p.start("blocked", hosts.Options{})
	p.calm(1)
	const blocked = "an item already running elsewhere"
	p.flow(blocked, func() {
		p.tool(blocked, 0)
		for range 2 {
			p.tick()
			p.running(2) // the mark without a session was removed
			p.end()
		}
		p.glance(elsewhere.Name)
	})
	p.flow("the running node goes away", func() {
		p.tick()
		p.running(2)
		p.end()
	})
}

func servedTrigger(p *served) {
	p.three()
	const one, all = "trigger of 1 instance(s)", "trigger of 3 instance(s)"
	p.flow(one, func() {
		p.tool(one, 0)
		p.running(2)
		p.end()
		p.glance("after " + one)
	})
	p.flow(all, func() {
		for k := range 3 {
			p.tool(all, k)
		}
		p.running(6)
		p.end()
		p.glance("after " + all)
	})
	m1 := protocol.ID(p.rec.Outputs["m1"].Instance)
	const again = "second trigger while the first one still runs (it is dropped)"
	p.flow(again, func() {
		p.tool(again, 0)
		p.running(2)
		was := p.Read(p.Job().Instance(m1)).Stat.Version
		p.tool(again, 1)
		p.Await("the acceptance of the second", func(s hosts.State) bool {
			return slices.ContainsFunc(s.View.Instances, func(i protocol.Instance) bool { return i.ID == m1 && i.Version == was+2 && i.Request == 0 })
		})
		p.end()
	})
}

func servedShutdown(p *served) {
	p.three()
	p.flow("SIGTERM of an idle non-leader, rc=143", func() {
		p.members["m2"].Stop()
		p.calm(2)
		p.glance("7 s after SIGTERM of an idle non-leader (JVM hook, failover on)")
	})
	p.tick()
	p.running(6)
	p.flow("SIGTERM of a non-leader during its execution", func() {
		p.members["m3"].Leave()
		p.end()
		p.members["m3"].Stop()
		p.calm(1)
		p.glance("7 s after SIGTERM of a non-leader in execution")
	})
	p.flow("SIGTERM of the last (leader), rc=143", func() {
		p.members["m1"].Stop()
		p.glance("right after SIGTERM of the last one")
		p.glance("after clean shutdown of all")
	})
}

func servedFailover(p *served) {
	p.start("m1", hosts.Options{Session: 2 * mortal})
	p.start("m2", hosts.Options{Session: mortal})
	// As many slots as items. There each member took one item; here the member with free
	// slots takes both.
	p.start("m3", hosts.Options{Workers: 2})
	p.calm(3)
	m1, m2 := protocol.ID(p.rec.Outputs["m1"].Instance), job.InstanceID(p.rec.Outputs["m2"].Instance)
	p.tick()
	p.running(6)
	p.glance("all running, before the kill")
	p.flow("SIGKILL of a non-leader during execution and failover of its items", func() {
		p.members["m2"].Kill()
		p.Await("the failover", func(s hosts.State) bool {
			v := s.View
			dead := slices.ContainsFunc(s.Guests, func(g job.Call) bool { return g.Instance == m2 })
			return !dead && len(s.Guests) == 6 && marked(v) == 6 && v.Necessary && v.Items[2].Failover == m1 && v.Items[3].Failover == m1
		})
		p.glance(p.momentAfter("2 to 3 s after SIGKILL"))
		p.end()
		p.calm(2)
		p.glance("after failover")
	})
	p.flow("next tick (resharding to 2)", func() {
		p.tick()
		p.begun(6)
	})
	p.Release() // three items on two slots
	p.idle()
	p.Hold()
	p.glance("idle with two, before killing the leader")
	p.flow("SIGKILL of the idle leader", func() {
		p.members["m1"].Kill()
		p.calm(1)
	})
	p.glance("after the idle leader's death")
	p.tick()
	p.begun(6)
	p.glance("after the next tick with one")
}

// momentAfter returns the name of the moment that begins so.
func (p *served) momentAfter(prefix string) string {
	for _, m := range p.rec.Moments {
		if strings.HasPrefix(m.Name, prefix) {
			return m.Name
		}
	}
	p.t.Fatalf("no moment %q", prefix)
	return ""
}

func servedOnce(p *served) {
	p.start("m1", hosts.Options{Listens: true})
	p.calm(1)
	p.start("m2", hosts.Options{Listens: true})
	p.calm(2)
	for k, name := range []string{"first", "second"} {
		p.flow(name+" tick with the distributed-once listener", func() {
			p.tick()
			p.running(4)
			p.called(2*k + 1)
			p.end()
			p.called(2*k + 2)
			if k == 0 {
				p.glance("after a run with the distributed-once listener")
			}
		})
	}
	p.checkFires(p.State().Listeners)
}

// called waits until listeners of fires were called that often.
func (p *served) called(n int) {
	p.t.Helper()
	p.Await(fmt.Sprintf("%d calls of listeners", n), func(s hosts.State) bool { return len(s.Listeners) == n })
}
