package runner

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// Some of what can go wrong takes two things that go wrong at about the same moment,
// which single faults do too seldom: a scene draws them together.

func (p *plan) wrong(at, until time.Duration, server int, name string, on, off func(*network)) {
	p.add(at, fmt.Sprintf("server %d: %s", server, name), func(w *faultyWorld) { w.servers[server].network.change(on) })
	p.add(until, fmt.Sprintf("server %d: no more %s", server, name), func(w *faultyWorld) { w.servers[server].network.change(off) })
}

// unsent: nothing that is sent arrives.
func (p *plan) unsent(at, until time.Duration, server int) {
	p.wrong(at, until, server, "requests lost", func(n *network) { n.outShut = true }, func(n *network) { n.outShut = false })
}

func (p *plan) deposed(at, until time.Duration, server int) {
	p.wrong(at, until, server, "deposed leader", func(n *network) { n.deposed = true }, func(n *network) { n.deposed = false })
}

// still: a loop stands still when it comes to a line of its log.
func (p *plan) still(at time.Duration, server int, name, line string) {
	p.add(at, fmt.Sprintf("server %d: the loop of %s stands still at %q", server, name, line), func(w *faultyWorld) { w.servers[server].gates[name].close(line) })
}

func (p *plan) goesOn(at time.Duration, server int, name string) {
	p.add(at, fmt.Sprintf("server %d: the loop of %s may go on", server, name), func(w *faultyWorld) { w.servers[server].gates[name].open() })
}

// some lists jobs that are of the wanted kind; any job, if there is none.
func (p *plan) some(rng *rand.Rand, wanted func(job.Config) bool) (some []job.Config) {
	for _, c := range p.jobs {
		if wanted(c) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return p.jobs[rng.IntN(len(p.jobs)):][:1]
	}
	rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some
}

// instant draws one of a job's.
func (p *plan) instant(rng *rand.Rand, c job.Config) time.Duration {
	period, err := time.ParseDuration(c.Cron)
	if err != nil {
		panic(err) // the plan has drawn it
	}
	return period * time.Duration(1+rng.IntN(int(p.length/period)))
}

// within draws a time between two.
func within(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

func (p *plan) scene(rng *rand.Rand) {
	const s = time.Second
	server := rng.IntN(p.servers)
	switch rng.IntN(8) {
	case 0, 1: // loops stand still while their session comes to be in doubt, and is trusted again
		some := p.some(rng, func(c job.Config) bool { return c.OnRegistryLoss == "" })
		at := p.instant(rng, some[0])
		back := at + within(rng, 9*s/2, 6*s)
		p.unsent(at-within(rng, 2*s, 3*s), back, server)
		for _, c := range some {
			p.still(at-s, server, c.Name, atCommit)
			p.goesOn(back+within(rng, s/2, 2*s), server, c.Name)
		}
	case 2: // … or ends
		some := p.some(rng, func(c job.Config) bool { return c.OnRegistryLoss != "" })
		at := p.instant(rng, some[0])
		gone := at - within(rng, 0, s)
		p.unsent(gone, gone+within(rng, faultyTimeout, faultyTimeout+s), server)
		for _, c := range some {
			p.still(gone, server, c.Name, atUnknown)
			p.goesOn(gone+within(rng, faultyTimeout, 2*faultyTimeout), server, c.Name)
		}
	case 3: // a run is replaced right before the doubt
		c := p.some(rng, func(c job.Config) bool { return c.Overlap == job.Replace })[0]
		at := p.instant(rng, c) + within(rng, s, 20*s)
		p.deposed(at-within(rng, 3*s/2, 3*s), at+within(rng, 2*s, 4*s), server)
		asked := (server + 1) % p.servers
		p.add(at, fmt.Sprintf("server %d: trigger %s", asked, c.Name), func(w *faultyWorld) { w.servers[asked].ask(c.Name, protocol.AskTrigger{}) })
	case 4: // guests that wait for others come to their turn in doubt
		c := p.some(rng, func(c job.Config) bool { return c.OnRegistryLoss != "" && c.Parallel > 0 })[0]
		at := p.instant(rng, c)
		p.unsent(at+within(rng, 0, 3*s), at+within(rng, 8*s, 10*s), server)
	case 5: // a life is brief, and nothing is answered in it
		at := time.Duration(0)
		if rng.IntN(2) == 0 {
			at = within(rng, 0, p.length)
			p.add(at, fmt.Sprintf("server %d: stop", server), func(w *faultyWorld) { w.servers[server].stop() })
		}
		end := at + within(rng, 0, 3*s)
		p.wrong(at, end+s, server, "no answer, late", func(n *network) { n.unknown, n.slowest = 0.9, 3*s/2 }, func(n *network) { n.unknown, n.slowest = 0, usual })
		p.add(at, fmt.Sprintf("server %d: start", server), func(w *faultyWorld) { w.servers[server].start() })
		p.add(end, fmt.Sprintf("server %d: stop", server), func(w *faultyWorld) { w.servers[server].stop() })
	case 6:
		d := within(rng, 2*s, 7*s)
		p.add(within(rng, 0, p.length), fmt.Sprintf("server %d: has slept", server), func(w *faultyWorld) { w.servers[server].network.sleep(d) })
	default:
		c := p.jobs[rng.IntN(len(p.jobs))]
		mark, d := []string{"running", "failover"}[rng.IntN(2)], within(rng, 10*s, 20*s)
		p.add(p.instant(rng, c)+within(rng, s/10, s), "somebody meddles with "+c.Name, func(w *faultyWorld) { w.meddle(c.Name, mark, d) })
	}
}
