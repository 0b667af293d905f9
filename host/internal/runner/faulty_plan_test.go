package runner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// faultyTimeout is the time-out of the sessions.
	faultyTimeout = 10 * time.Second
	// calmTime is how long the world may take to recover after the last fault: sessions
	// without a client end, and the next assignment is made.
	calmTime = time.Minute
	// firesTime is the time within which each item then fires, even one that fires every
	// thirty seconds.
	firesTime = 45 * time.Second
)

// plan is everything that a seed draws.
type plan struct {
	servers                int
	jobs                   []job.Config
	events                 []planned
	length                 time.Duration
	guestSeed, networkSeed uint64
	brieflyFirst           bool
	changed                map[string]bool // jobs that operators keep from running, or that are later replaced
	versions               []job.Config    // of the job that changes in files; empty if there is no such job
	finds                  []bool          // servers that find the last job only in the registry; nil if there is no such job
}

// planned is an event at a time of a world.
type planned struct {
	at   time.Duration
	text string
	do   func(*faultyWorld)
}

func newPlan(seed uint64) *plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &plan{servers: 2 + rng.IntN(3), length: time.Duration(60+rng.IntN(120)) * time.Second, guestSeed: rng.Uint64(), networkSeed: rng.Uint64(), changed: map[string]bool{}}
	for k := range 2 + rng.IntN(3) {
		p.jobs = append(p.jobs, drawJob(rng, k))
	}
	for range 5 + rng.IntN(15) {
		p.fault(rng)
	}
	for range rng.IntN(8) {
		p.operation(rng)
	}
	for range 2 + rng.IntN(5) {
		p.scene(rng)
	}
	p.files(seed)
	p.found(seed)
	slices.SortStableFunc(p.events, func(a, b planned) int { return int(a.at - b.at) })
	return p
}

// drawJob draws the k-th job. The first one never changes, so its rows can be checked
// against its schedule.
func drawJob(rng *rand.Rand, k int) job.Config {
	c := testConfig()
	c.Name, c.Cron, c.Shards = fmt.Sprintf("job%d", k), []string{"5s", "10s", "30s"}[rng.IntN(3)], 1+rng.IntN(5)
	c.ItemParams = ""
	c.Failover, c.Misfire, c.MonitorExecution = rng.IntN(3) > 0, rng.IntN(3) == 0, rng.IntN(4) > 0
	c.Failover = c.Failover && c.MonitorExecution
	if !c.Misfire {
		c.Overlap = []job.Overlap{"", job.Skip, job.QueueOne, job.Replace, job.Replace}[rng.IntN(5)]
	}
	if c.Overlap == job.Replace && rng.IntN(4) > 0 {
		c.Cron = "30s" // so that a trigger fits between two instants
	}
	if rng.IntN(3) == 0 {
		c.Parallel = 1 + rng.IntN(2)
	}
	if rng.IntN(3) == 0 {
		c.Retry = job.Retry{Attempts: 2 + rng.IntN(2), Backoff: time.Duration(1+rng.IntN(3)) * time.Second}
	}
	if k > 0 && rng.IntN(2) == 0 {
		c.OnRegistryLoss = job.FinishOnLoss
		c.Parallel = rng.IntN(2)
	}
	c.Limits.Grace = time.Duration(3*rng.IntN(3)) * time.Second // some outlast the doubt, and are ended when the session expires
	return c
}

func (p *plan) add(at time.Duration, text string, do func(*faultyWorld)) {
	p.events = append(p.events, planned{at, text, do})
}

// fault draws a fault that lasts for a while.
func (p *plan) fault(rng *rand.Rand) {
	at := time.Duration(rng.Int64N(int64(p.length)))
	long := []time.Duration{time.Second, faultyTimeout, 3 * faultyTimeout}[rng.IntN(3)]
	until := at + time.Duration(rng.Int64N(int64(long)))
	server := rng.IntN(p.servers)
	wrong := func(name string, on, off func(*network)) { p.wrong(at, until, server, name, on, off) }
	switch rng.IntN(10) {
	case 8:
		name := p.jobs[rng.IntN(len(p.jobs))].Name
		p.still(at, server, name, atCommit)
		if rng.IntN(2) == 0 {
			wrong("cut", func(n *network) { n.cut = true }, func(n *network) { n.cut = false })
			until += faultyTimeout // so that the loop still stands still when the connection is back
		}
		p.goesOn(until, server, name)
	case 9:
		name := p.jobs[rng.IntN(len(p.jobs))].Name
		wrong("no answer to 70%", func(n *network) { n.unknown = 0.7 }, func(n *network) { n.unknown = 0 })
		p.add(at+time.Second/10, fmt.Sprintf("server %d: trigger %s", server, name), func(w *faultyWorld) { w.servers[server].ask(name, protocol.AskTrigger{}) })
	case 0, 1:
		wrong("cut", func(n *network) { n.cut = true }, func(n *network) { n.cut = false })
	case 2:
		p.unsent(at, until, server)
	case 3:
		wrong("answers lost", func(n *network) { n.inShut = true }, func(n *network) { n.inShut = false })
	case 4:
		p.deposed(at, until, server)
	case 5:
		slowest := time.Duration(1+rng.Int64N(1500)) * time.Millisecond
		wrong("delay of "+slowest.String(), func(n *network) { n.slowest = slowest }, func(n *network) { n.slowest = usual })
	case 6:
		chance := 0.05 + rng.Float64()/2
		wrong(fmt.Sprintf("no answer to %.0f%%", 100*chance), func(n *network) { n.unknown = chance }, func(n *network) { n.unknown = 0 })
	default:
		p.add(at, fmt.Sprintf("server %d: stop", server), func(w *faultyWorld) { w.servers[server].stop() })
		p.add(until, fmt.Sprintf("server %d: start", server), func(w *faultyWorld) { w.servers[server].start() })
	}
}

// operation draws a request of an operator to one of the servers.
func (p *plan) operation(rng *rand.Rand) {
	at := time.Duration(rng.Int64N(int64(p.length)))
	server, k := rng.IntN(p.servers), rng.IntN(len(p.jobs))
	name := p.jobs[k].Name
	ask := func(a protocol.Ask) {
		p.add(at, fmt.Sprintf("server %d: %#v of %s", server, a, name), func(w *faultyWorld) { w.servers[server].ask(name, a) })
	}
	kind := rng.IntN(8)
	if k == 0 {
		kind = kind % 2 // nothing that keeps its items from beginning
	}
	p.changed[name] = p.changed[name] || kind > 1
	switch kind {
	case 0:
		ask(protocol.AskReshard{})
	case 1:
		ask(protocol.AskTrigger{})
	case 2:
		ask(protocol.AskPause{Paused: rng.IntN(3) > 0})
	case 3:
		ask(protocol.AskItem{Item: rng.IntN(p.jobs[k].Shards), Disabled: rng.IntN(3) > 0})
	case 4:
		ask(protocol.AskServer{IP: ipOf(rng.IntN(p.servers)), Disabled: rng.IntN(3) > 0})
	case 5, 6:
		shards, cron := 1+rng.IntN(5), []string{"5s", "10s", "30s"}[rng.IntN(3)]
		p.add(at, fmt.Sprintf("server %d: %s has %d items each %s", server, name, shards, cron), func(w *faultyWorld) {
			w.servers[server].define(name, func(c *v21.Config) { c.ShardingTotalCount, c.Cron = int32(shards), cron })
		})
	default:
		p.add(at, "remove "+name, func(w *faultyWorld) { w.remove(name, 300*time.Millisecond) })
	}
}

func ipOf(server int) string { return fmt.Sprintf("10.0.0.%d", server+1) }
