package supply

import (
	"context"
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// prepared is code that is ready to run for every configuration with its key.
type prepared struct {
	key     key
	signers []string // required signers of key's modules; see Catalog.signers
	guests  guests
	assign  func(context.Context, job.ShardCall) ([]int, error) // nil if the strategy is not a module
	release []func()                                            // releases what it leases
	leases  int                                                 // one for its Code, and one for each run; guarded by the Code's mu
	code    *Code
}

// key is the part of a configuration that prepared code depends on.
type key struct {
	Kind                           job.Kind
	Module, Digest, Command        string
	StrategyModule, StrategyDigest string
	Allow                          job.Allow
}

func keyOf(c *job.Config) key {
	return key{c.Kind, c.Module, c.ModuleDigest, c.Command, c.StrategyModule, c.StrategyDigest, c.Allow}
}

// SameCode reports whether two configurations run the same code with the same grants.
func SameCode(a, b *job.Config) bool {
	one, other := keyOf(a), keyOf(b)
	return one.equal(&other)
}

// equal reports whether two keys are the same. It runs before every run, so it uses no
// reflection.
func (k *key) equal(o *key) bool {
	a, b := &k.Allow, &o.Allow
	return k.Kind == o.Kind && k.Module == o.Module && k.Digest == o.Digest && k.Command == o.Command &&
		k.StrategyModule == o.StrategyModule && k.StrategyDigest == o.StrategyDigest &&
		a.Clock == b.Clock && a.Random == b.Random && a.State == b.State &&
		slices.Equal(a.Dirs, b.Dirs) && maps.Equal(a.Env, b.Env) && slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.HTTP, b.HTTP)
}

// end ends a lease. The last one releases the code's own leases.
func (p *prepared) end() {
	p.code.mu.Lock()
	p.leases--
	last := p.leases == 0
	p.code.mu.Unlock()
	if last {
		p.releaseAll()
	}
}

// releaseAll ends the leases that the code has itself.
func (p *prepared) releaseAll() {
	for _, release := range p.release {
		release()
	}
}

// guests run the code of a job, like Options.Runner.
type guests interface {
	Run(ctx context.Context, c job.Call) job.Outcome
}

// fireListener is implemented by guests whose jobs may have listeners of fires.
type fireListener interface {
	Listens() (started, completed bool)
}

// listens reports which listeners of fires guests have.
func listens(g guests) (started, completed bool) {
	if l, ok := g.(fireListener); ok {
		return l.Listens()
	}
	return false, false
}

// granted adds a job's grants to its calls.
type granted struct {
	guests
	o     *Options
	allow *job.Allow
	http  job.HTTP
}

// Run implements guests. It adds what only the server knows, such as the values of granted
// secrets.
func (g granted) Run(ctx context.Context, c job.Call) job.Outcome {
	c.Namespace, c.HTTP, c.Secrets = g.o.Namespace, g.http, map[string]string{}
	for _, name := range g.allow.Secrets {
		c.Secrets[name] = g.o.Secrets[name]
	}
	return g.guests.Run(ctx, c)
}

// Listens implements fireListener.
func (g granted) Listens() (started, completed bool) { return listens(g.guests) }

// moduleGuests run one module.
type moduleGuests struct {
	engine *sandbox.Engine
	module *sandbox.Module
}

// Listens implements fireListener.
func (g moduleGuests) Listens() (started, completed bool) {
	return g.module.Exports(abi.ExportStarted), g.module.Exports(abi.ExportCompleted)
}

// Run implements guests.
func (g moduleGuests) Run(ctx context.Context, c job.Call) job.Outcome {
	return g.engine.Run(ctx, g.module, c)
}
