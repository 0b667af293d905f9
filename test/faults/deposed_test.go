package faults

import (
	"path"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

// lasting is a tempo of slow whose runs last longer than a replaced leader goes on.
var lasting = tempo{20 * time.Second, 15 * time.Second}

// believes is the number of ticks, of half a second each, for which a ZooKeeper leader
// goes on without messages from its followers. In that time the followers must be able
// to start and elect another leader, even on a busy machine.
const believes = "syncLimit=40"

// depositions are faults in which ZooKeeper's leader is replaced without knowing, while
// only the first server is connected to it.
var depositions = []fault{
	{"deposed", func(c *cluster) { deposed(c, c.net.cut) }},
	{"deposed-deaf", func(c *cluster) { deposed(c, c.net.deafen) }},
}

// newDeposed starts a separate ensemble and a cluster. The first server connects to the
// leader, the others to the followers.
func newDeposed(t *testing.T, n *network, machines []machine) *cluster {
	t.Helper()
	e := newEnsemble(t, n, 3, believes)
	leader := e.leader()
	if leader < 0 {
		t.Fatal("the ensemble has no leader")
	}
	return newCluster(t, n, e, machines, lasting, func(i int) []string {
		if i == 0 {
			return e.addresses()[leader : leader+1]
		}
		return slices.Delete(e.addresses(), leader, leader+1)
	})
}

// deposed drops the followers' packets to the leader and restarts the followers. They
// elect another leader at once, while the old one answers its clients for twenty more
// seconds. For the others, the session of the server that is connected to the old
// leader ends after three seconds.
func deposed(c *cluster, lose func(machine, ...machine) func()) {
	leader := c.leader()
	run, s := c.amidstAt(c.servers[0].machine.ip)
	heal := lose(c.ensemble.machines[leader], c.ensemble.others(leader)...)
	c.hit(s)
	var followers []*zktest.Server
	for i, f := range c.ensemble.servers {
		if i != leader {
			followers = append(followers, f)
			f.Kill()
		}
	}
	for _, f := range followers {
		f.Launch()
	}
	for _, f := range followers {
		f.AwaitServing()
	}
	if role := c.ensemble.servers[leader].Role(); role != "leader" {
		c.Errorf("the old leader knew before another one was there: it is %q", role)
	}
	c.takenOver(run)
	c.moved(s, c.lastHit())
	c.await("the old leader to give up", func([]evidence.Line) bool { return c.ensemble.servers[leader].Role() == "" })
	c.pass(session) // by now no server can take the session for alive
	c.nothingAfter(run.Server, followers[0])
	heal()
	c.ensemble.servers[leader].AwaitServing()
}

// nothingAfter checks that the guests of an instance had ended when its session ended.
// The log of observer, a ZooKeeper server, shows when that was.
func (c *cluster) nothingAfter(instance string, observer *zktest.Server) {
	c.Helper()
	gone := sessionEnd(c, observer.Log(), instance)
	var last evidence.Line
	lines, err := c.lines.read()
	if err != nil {
		c.Fatal(err)
	}
	after := 0
	for _, l := range lines {
		if job.InstanceID(l.Server).IP() != job.InstanceID(instance).IP() || l.At < c.input.From {
			continue
		}
		last = l
		if l.At > gone {
			after++
		}
	}
	since := func(at int64) time.Duration { return time.Duration(at-c.lastHit()) * time.Millisecond }
	c.Logf("after the fault: the session of %s ended at %v, its last guest wrote at %v", instance, since(gone), since(last.At))
	if after > 0 {
		c.Errorf("%s: its guests wrote %d lines after its session had ended", instance, after)
	}
}

// sessionEnd returns the end, after the fault, of the session that owned a node with the
// name of an instance.
func sessionEnd(c *cluster, log []zktest.Transaction, instance string) int64 {
	c.Helper()
	var session int64
	for _, t := range log {
		for _, change := range t.Changes {
			switch {
			case change.Kind == zktest.Created && change.Ephemeral && path.Base(change.Path) == instance:
				session = t.Session
			case change.Kind == zktest.SessionEnded && t.Session == session && t.Time.UnixMilli() > c.lastHit():
				return t.Time.UnixMilli()
			}
		}
	}
	c.Fatalf("the session %x of %s has not ended", session, instance)
	return 0
}
