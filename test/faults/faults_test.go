package faults

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

var (
	enabled  = flag.Bool("faults", false, "run the faults; they take minutes")
	buildDir = flag.String("build", "../../build/faults", "where the guest is, and servers leave what they write")
	seed     = flag.Uint64("seed", 0, "of the random faults; 0: by the clock")
	// Debian's release can lose acknowledged writes if its members are killed during
	// their start (ZOOKEEPER-4785 and others).
	debian = flag.Bool("debian", false, "use the ZooKeeper of the distribution")
	rounds = flag.Int("rounds", 12, "how many random troubles")
)

// fault is a fault of a cluster, which it also undoes.
type fault struct {
	name string
	do   func(*cluster)
}

var faults = []fault{
	{"kill", kill},
	{"kill-all", killAll},
	{"freeze", freeze},
	{"stop", stop},
	{"partition-server", partitionServer},
	{"partition-leader", partitionLeader},
	{"leader-alone", leaderAlone},
	{"wedged", wedged},
	{"restart-ensemble", restartEnsemble},
	{"restart-rolling", restartRolling},
	{"wipe", wipe},
	{"random", random},
}

// TestFaults is the test of make faults. It runs one fault after the other, because they
// share the ensemble and two or three cores.
func TestFaults(t *testing.T) {
	if !*enabled {
		return // it needs root, minutes and the built programs: make faults
	}
	net := newNetwork(t)
	clearWork(t)
	e := sync.OnceValue(func() ensemble { return newEnsemble(t, net, 3) })
	var machines []machine
	for i := range 3 {
		machines = append(machines, net.machine(fmt.Sprint("s", i+1)))
	}
	var table []evidence.Named
	run := func(name string, start func(*testing.T) *cluster, do func(*cluster)) {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			do(c)
			table = append(table, c.verdict())
		})
	}
	for _, f := range faults {
		run(f.name, func(t *testing.T) *cluster {
			return newCluster(t, net, e(), machines, usual, func(int) []string { return e().addresses() })
		}, f.do)
	}
	for _, f := range depositions {
		run(f.name, func(t *testing.T) *cluster { return newDeposed(t, net, machines) }, f.do)
	}
	printTable(t, table)
}

func printTable(t *testing.T, table []evidence.Named) {
	t.Helper()
	var out strings.Builder
	if err := evidence.Table(&out, session, table); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
}

// clearWork removes the files of the last run, unless that is still running.
func clearWork(t *testing.T) {
	t.Helper()
	lock, err := os.Create(workDir(t) + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatalf("another test works in %s: %v", workDir(t), err)
	}
	if err := os.RemoveAll(workDir(t)); err != nil {
		t.Fatal(err)
	}
}

// kill kills a server during runs; later it is started again.
func kill(c *cluster) {
	run, s := c.amidst()
	s.kill()
	c.hit(s)
	c.takenOver(run)
	s.start()
}

// killAll kills all servers, so that none can take over until all are started again.
func killAll(c *cluster) {
	c.amidst()
	for _, s := range c.servers {
		s.kill()
		c.hit(s)
	}
	for _, s := range c.servers {
		s.start()
	}
}

// freeze freezes a server for longer than its session lasts, until all its items run
// elsewhere.
func freeze(c *cluster) {
	run, s := c.amidst()
	wake := c.sleep(s)
	c.hit(s)
	c.takenOver(run)
	c.moved(s, c.lastHit())
	wake()
}

// sleep freezes a server until wake is called.
func (c *cluster) sleep(s *server) (wake func()) {
	slept := evidence.Span{Server: s.machine.ip, From: time.Now().UnixMilli()}
	s.signal(syscall.SIGSTOP)
	return func() {
		slept.To = time.Now().UnixMilli()
		s.signal(syscall.SIGCONT)
		c.input.Frozen = append(c.input.Frozen, slept)
	}
}

// stop stops a server as an operator does, during runs, which end normally there.
func stop(c *cluster) {
	run, s := c.amidst()
	if err := s.stop(); err != nil {
		c.Error(err)
	}
	ended := false
	c.await("the end of the run", func(lines []evidence.Line) bool {
		ended = slices.ContainsFunc(lines, func(l evidence.Line) bool {
			return l.Word == "end" && l.Token == run.Token && l.Job == run.Job && l.Item == run.Item
		})
		return true
	})
	if !ended {
		c.Errorf("%s has stopped before its %s, item %d, came to its end", s.machine.ip, run.Job, run.Item)
	}
	s.start()
}

// partitionServer cuts a server off from the whole ensemble.
func partitionServer(c *cluster) {
	run, s := c.amidst()
	heal := c.net.cut(s.machine, c.ensemble.machines...)
	c.hit(s)
	if address := c.ensemble.servers[0].Address(); s.machine.reaches(address) {
		c.Fatalf("%s still reaches %s", s.machine.ip, address)
	}
	c.takenOver(run)
	c.moved(s, c.lastHit())
	heal()
}

// partitionLeader cuts the ensemble's leader off from all other machines.
func partitionLeader(c *cluster) {
	c.amidst()
	leader := c.leader()
	others := c.ensemble.others(leader)
	for _, s := range c.servers {
		others = append(others, s.machine)
	}
	heal := c.net.cut(c.ensemble.machines[leader], others...)
	c.replaced(leader)
	heal()
	c.ensemble.servers[leader].AwaitServing()
}

// leaderAlone cuts the ensemble's leader off from the other members, but not from its
// clients.
func leaderAlone(c *cluster) {
	c.amidst()
	leader := c.leader()
	heal := c.net.cut(c.ensemble.machines[leader], c.ensemble.others(leader)...)
	c.replaced(leader)
	heal()
	c.ensemble.servers[leader].AwaitServing()
}

// replaced waits until another server leads the ensemble and the jobs run again.
func (c *cluster) replaced(leader int) {
	c.Helper()
	since := time.Now().UnixMilli()
	c.await("another leader of the ensemble", func([]evidence.Line) bool {
		for i, s := range c.ensemble.servers {
			if i != leader && s.Role() == "leader" {
				return true
			}
		}
		return false
	})
	c.await("a start after the fault", func(lines []evidence.Line) bool {
		return slices.ContainsFunc(lines, func(l evidence.Line) bool { return l.Word == "start" && l.Instant > since })
	})
}

// leader returns the number of the ensemble's leader.
func (c *cluster) leader() (found int) {
	c.Helper()
	c.await("a leader of the ensemble", func([]evidence.Line) bool {
		found = c.ensemble.leader()
		return found >= 0
	})
	return found
}

// restartEnsemble kills all of ZooKeeper at once and starts it again.
func restartEnsemble(c *cluster) {
	c.amidst()
	for _, s := range c.ensemble.servers {
		s.Kill()
	}
	for _, s := range c.ensemble.servers {
		s.Launch()
	}
	for _, s := range c.ensemble.servers {
		s.AwaitServing()
	}
}

// restartRolling restarts ZooKeeper's servers one after the other, as an
// upgrade does.
func restartRolling(c *cluster) {
	c.amidst()
	for _, s := range c.ensemble.servers {
		s.Restart()
	}
}

// wipe removes ZooKeeper's data while the servers run.
func wipe(c *cluster) {
	c.amidst()
	for _, s := range c.ensemble.servers {
		s.Kill()
		s.Wipe()
	}
	c.input.Wiped = append(c.input.Wiped, time.Now().UnixMilli())
	for _, s := range c.ensemble.servers {
		s.Launch()
	}
	for _, s := range c.ensemble.servers {
		s.AwaitServing()
	}
}
