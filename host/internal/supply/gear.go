package supply

import (
	"context"
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// gear is what the runs of one configuration have.
type gear struct {
	wants    wants
	run      guests
	deal     func(context.Context, job.ShardCall) ([]int, error) // nil: no module deals
	give     []func()                                            // gives back what was taken
	users    int                                                 // the code itself, and one for each run; guarded by the code's mu
	guardian *Code
}

// wants is what a gear depends on.
type wants struct {
	Kind                           job.Kind
	Module, Digest, Command        string
	StrategyModule, StrategyDigest string
	Allow                          job.Allow
}

func wantsOf(c *job.Config) wants {
	return wants{c.Kind, c.Module, c.ModuleDigest, c.Command, c.StrategyModule, c.StrategyDigest, c.Allow}
}

// SameCode tells whether two configurations run the same code with the same grants.
func SameCode(a, b *job.Config) bool {
	w, o := wantsOf(a), wantsOf(b)
	return w.equal(&o)
}

// equal tells whether a gear for w is one for o, too. Each run asks that, so it
// is not left to reflection.
func (w *wants) equal(o *wants) bool {
	a, b := &w.Allow, &o.Allow
	return w.Kind == o.Kind && w.Module == o.Module && w.Digest == o.Digest && w.Command == o.Command &&
		w.StrategyModule == o.StrategyModule && w.StrategyDigest == o.StrategyDigest &&
		a.Clock == b.Clock && a.Random == b.Random && a.State == b.State &&
		slices.Equal(a.Dirs, b.Dirs) && maps.Equal(a.Env, b.Env) && slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.HTTP, b.HTTP)
}

func (k *gear) release() {
	k.guardian.mu.Lock()
	k.users--
	last := k.users == 0
	k.guardian.mu.Unlock()
	if !last {
		return
	}
	for _, give := range k.give {
		give()
	}
}

// guests run the code of a job, as a Runner of the Options does.
type guests interface {
	Run(ctx context.Context, c job.Call) job.Outcome
}

// fireListener is what guests are as well whose jobs have listeners of fires.
type fireListener interface {
	Listens() (started, completed bool)
}

// equipped gives the calls of one job what the job is granted, beside what the
// configuration itself says.
type equipped struct {
	guests
	o     *Options
	allow *job.Allow
	http  job.HTTP
}

func (e equipped) Run(ctx context.Context, c job.Call) job.Outcome {
	c.Namespace, c.HTTP, c.Secrets = e.o.Namespace, e.http, map[string]string{}
	for _, name := range e.allow.Secrets {
		c.Secrets[name] = e.o.Secrets[name]
	}
	return e.guests.Run(ctx, c)
}

// Listens implements fireListener.
func (e equipped) Listens() (started, completed bool) { return listens(e.guests) }

// wasmGuests runs one module.
type wasmGuests struct {
	engine *sandbox.Engine
	module *sandbox.Module
}

// Listens implements fireListener.
func (g wasmGuests) Listens() (started, completed bool) {
	for _, export := range g.module.Report().Exports {
		started = started || export.Name == abi.ExportStarted
		completed = completed || export.Name == abi.ExportCompleted
	}
	return started, completed
}

func (g wasmGuests) Run(ctx context.Context, c job.Call) job.Outcome {
	return g.engine.Run(ctx, g.module, c)
}
