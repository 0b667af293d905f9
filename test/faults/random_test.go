package faults

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

// trouble is a fault that lasts for a while, possibly with others.
type trouble struct {
	whom  machine // a machine has one trouble at a time
	until time.Time
	end   func()
}

// operator stands for operators; it has one trouble at a time.
var operator = machine{name: "operator"}

func nothing() {}

// kind is a kind of trouble of a machine. begin returns the function that ends it.
type kind struct {
	name  string
	whom  machine
	begin func() (end func())
}

// random begins and ends troubles of any kind, several at a time, as determined by the
// seed.
func random(c *cluster) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	c.Logf("-seed=%d -rounds=%d", *seed, *rounds)
	rng := rand.New(rand.NewPCG(*seed, 0))
	var present []trouble
	ends := func(now time.Time) {
		var still []trouble
		for _, t := range present {
			if t.until.After(now) {
				still = append(still, t)
				continue
			}
			t.end()
		}
		present = still
	}
	for range *rounds {
		// They are drawn in any case, so that a seed has the same meaning whatever the
		// timing.
		whom, jobName := rng.IntN(len(c.servers)), c.input.Jobs[rng.IntN(len(c.input.Jobs))].Name
		kinds := c.kinds(whom, jobName)
		k := kinds[rng.IntN(len(kinds))]
		lasts, pause := time.Duration(rng.Int64N(int64(2*session))), time.Duration(rng.Int64N(int64(session)))
		if !slices.ContainsFunc(present, func(t trouble) bool { return t.whom == k.whom }) {
			c.Logf("%s %s %s for %v, job %s", time.Now().UTC().Format("15:04:05.000"), k.whom.name, k.name, lasts.Round(time.Millisecond), jobName)
			present = append(present, trouble{k.whom, time.Now().Add(lasts), k.begin()})
		}
		c.pass(pause)
		ends(time.Now())
	}
	ends(time.Now().Add(time.Hour))
	for _, s := range c.ensemble.servers {
		s.AwaitServing()
	}
}

// kinds returns all troubles of one server, one member of the ensemble and one job.
func (c *cluster) kinds(whom int, job string) []kind {
	s, z, zm, op := c.servers[whom], c.ensemble.servers[whom], c.ensemble.machines[whom], c.servers[0]
	all := c.ensemble.machines
	return []kind{
		{"killed", s.machine, func() func() { s.kill(); c.hit(s); return s.start }},
		{"stopped", s.machine, func() func() {
			switch err := s.stop(); {
			case errors.Is(err, errStuck):
				c.Error(err)
			case err != nil: // without a registry it cannot finish everything
				c.Log(err)
			}
			return s.start
		}},
		{"frozen", s.machine, func() func() { c.hit(s); return c.sleep(s) }},
		{"cut off", s.machine, func() func() { c.hit(s); return c.net.cut(s.machine, all...) }},
		{"mute", s.machine, func() func() { c.hit(s); return c.net.mute(s.machine, all...) }},
		{"deaf", s.machine, func() func() { c.hit(s); return c.net.deafen(s.machine, all...) }},
		{"cut off from one", s.machine, func() func() { return c.net.cut(s.machine, zm) }},
		{"killed", zm, func() func() { z.Kill(); return z.Launch }},
		{"frozen", zm, func() func() { z.Signal(syscall.SIGSTOP); return func() { z.Signal(syscall.SIGCONT) } }},
		{"reshard", operator, func() func() { op.operate("job", "reshard", job); return nothing }},
		{"trigger", operator, func() func() { op.operate("job", "trigger", job); return nothing }},
		{"pause", operator, func() func() {
			op.operate("job", "pause", job)
			return func() { op.insist("job", "resume", job) }
		}},
		{"disable an item", operator, func() func() {
			op.operate("job", "disable", job, "--item", "1")
			return func() { op.insist("job", "enable", job, "--item", "1") }
		}},
		{"disable a server", operator, func() func() {
			op.operate("server", "disable", s.machine.ip)
			return func() { op.insist("server", "enable", s.machine.ip) }
		}},
		{"cut off from the ensemble", zm, func() func() { return c.net.cut(zm, c.ensemble.others(whom)...) }},
	}
}

// operate runs an operator's command with the program of a server and reports whether it
// succeeded. If the registry is out of reach, it failed or its outcome is unknown.
func (s *server) operate(args ...string) bool {
	out, err := s.verb(args...).CombinedOutput()
	if err != nil {
		s.cluster.Logf("%s %s: %v: %s", s.program, strings.Join(args, " "), err, out)
	}
	return err == nil
}

// insist repeats a command until it succeeds.
func (s *server) insist(args ...string) {
	s.cluster.Helper()
	s.cluster.await(strings.Join(args, " "), func([]evidence.Line) bool { return s.operate(args...) })
}
