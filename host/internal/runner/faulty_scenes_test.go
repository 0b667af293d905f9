package runner

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// Some failures need two faults at about the same moment, which independent faults rarely
// produce. A scene draws such faults together.

func (p *plan) wrong(at, until time.Duration, server int, name string, on, off func(*network)) {
	p.add(at, fmt.Sprintf("server %d: %s", server, name), func(w *faultyWorld) { w.servers[server].network.change(on) })
	p.add(until, fmt.Sprintf("server %d: no more %s", server, name), func(w *faultyWorld) { w.servers[server].network.change(off) })
}

// unsent plans that nothing arrives that a server sends.
func (p *plan) unsent(at, until time.Duration, server int) {
	p.wrong(at, until, server, "requests lost", func(n *network) { n.outShut = true }, func(n *network) { n.outShut = false })
}

func (p *plan) deposed(at, until time.Duration, server int) {
	p.wrong(at, until, server, "deposed leader", func(n *network) { n.deposed = true }, func(n *network) { n.deposed = false })
}

// still plans that a loop stops when it logs a given line.
func (p *plan) still(at time.Duration, server int, name, line string) {
	p.add(at, fmt.Sprintf("server %d: the loop of %s stands still at %q", server, name, line), func(w *faultyWorld) { w.servers[server].gates[name].close(line) })
}

func (p *plan) goesOn(at time.Duration, server int, name string) {
	p.add(at, fmt.Sprintf("server %d: the loop of %s may go on", server, name), func(w *faultyWorld) { w.servers[server].gates[name].open() })
}

// some returns the jobs that are wanted, or any if there are none.
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

// seldom returns the jobs that fire seldom first, so no instant comes during a fault.
func seldom(jobs []job.Config) []job.Config {
	order := []string{"30s", "10s", "5s"}
	slices.SortStableFunc(jobs, func(a, b job.Config) int {
		return cmp.Compare(slices.Index(order, a.Cron), slices.Index(order, b.Cron))
	})
	return jobs
}

// instant draws an instant of a job.
func (p *plan) instant(rng *rand.Rand, c job.Config) time.Duration {
	period, err := time.ParseDuration(c.Cron)
	if err != nil {
		panic(err) // the plan has drawn it
	}
	return period * time.Duration(1+rng.IntN(int(p.length/period)))
}

// within draws a time between two others.
func within(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

func (p *plan) scene(rng *rand.Rand) {
	const s = time.Second
	server := rng.IntN(p.servers)
	switch rng.IntN(8) {
	case 0: // loops stand still while their session becomes doubtful
		p.standstill(rng, server, atCommit, job.CancelOnLoss, 8*s, 10*s)
	case 1: // … and is trusted again, while runs go on
		p.standstill(rng, server, atCommit, job.CancelOnLoss, 43*s/5, 46*s/5)
	case 2: // … or ends
		p.standstill(rng, server, atUnknown, job.FinishOnLoss, faultyTimeout, faultyTimeout+s)
	case 3: // runs are replaced right before the doubt
		c := seldom(p.some(rng, func(c job.Config) bool { return c.Overlap == job.Replace }))[0]
		at := p.instant(rng, c) + within(rng, s/5, 4*s)
		for k := range p.servers {
			if k != server {
				p.deposed(at-within(rng, 3*s/2, 3*s), at+within(rng, 2*s, 4*s), k)
			}
		}
		p.add(at, fmt.Sprintf("server %d: trigger %s", server, c.Name), func(w *faultyWorld) { w.servers[server].ask(c.Name, protocol.AskTrigger{}) })
	case 4: // waiting guests get their turn in doubt
		c := p.some(rng, func(c job.Config) bool { return c.OnRegistryLoss != "" && c.Parallel > 0 })[0]
		at := p.instant(rng, c)
		p.unsent(at+within(rng, 0, 3*s), at+within(rng, 8*s, 10*s), server)
	case 5: // a server runs briefly without any answer
		p.brief(rng, server)
	case 6:
		d := within(rng, 2*s, 7*s)
		p.add(within(rng, 0, p.length), fmt.Sprintf("server %d: has slept", server), func(w *faultyWorld) { w.servers[server].network.sleep(d) })
	default:
		c := p.jobs[rng.IntN(len(p.jobs))]
		mark, d := []string{"running", "failover"}[rng.IntN(2)], within(rng, 10*s, 20*s)
		p.add(p.instant(rng, c)+within(rng, s/10, s), "somebody meddles with "+c.Name, func(w *faultyWorld) { w.meddle(c.Name, mark, d) })
	}
}

// standstill plans that soon after runs have begun nothing arrives for a while, and that
// loops with something to write stand still until it does again.
func (p *plan) standstill(rng *rand.Rand, server int, line string, loss job.OnRegistryLoss, least, most time.Duration) {
	const s = time.Second
	some := seldom(p.some(rng, func(c job.Config) bool { return (c.OnRegistryLoss == job.FinishOnLoss) == (loss == job.FinishOnLoss) }))
	lost := p.instant(rng, some[0]) + within(rng, s/10, s)
	back := lost + within(rng, least, most)
	p.unsent(lost, back, server)
	for _, c := range some {
		p.still(lost, server, c.Name, line)
		p.add(lost+within(rng, 2*s, 3*s), fmt.Sprintf("server %d: reshard %s", server, c.Name), func(w *faultyWorld) { w.servers[server].ask(c.Name, protocol.AskReshard{}) })
		p.goesOn(back+within(rng, s/2, s), server, c.Name)
	}
}

// brief plans a server that stops soon after its first or a later start, on a network so
// slow that it gets no answers.
func (p *plan) brief(rng *rand.Rand, server int) {
	const s = time.Second
	stop := func(at time.Duration, k int) {
		p.add(at, fmt.Sprintf("server %d: stop", k), func(w *faultyWorld) { w.servers[k].stop() })
	}
	start := func(at time.Duration, k int) {
		p.add(at, fmt.Sprintf("server %d: start", k), func(w *faultyWorld) { w.servers[k].start() })
	}
	first := rng.IntN(2) == 0 && !p.brieflyFirst
	at, slowest, lost, end := within(rng, 0, p.length), 3*s/2, 0.8, within(rng, s/4, 3*s)
	if first {
		p.brieflyFirst = true
		at, slowest, lost, end = 0, s/5, 0, within(rng, 4*s/5, 2*s) // this server creates the jobs
		for k := range p.servers {
			if k != server {
				stop(at, k)
				start(20*s, k)
			}
		}
	} else {
		stop(at, server)
		start(at, server)
	}
	end += at
	p.wrong(at, end+s, server, "no answer, late", func(n *network) { n.unknown, n.slowest = lost, slowest }, func(n *network) { n.unknown, n.slowest = 0, usual })
	if first {
		p.unsent(end, end+2*faultyTimeout, server)
	}
	stop(end, server)
	start(end+2*faultyTimeout, server)
}
