package host

import (
	"context"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/clock"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/job"
)

// hosted is one job of the host.
type hosted struct {
	found bool // in the registry
	code  *supply.Code

	tried chan struct{} // closed when its module was loaded, or could not be; nil of those found

	// Of those of the server's own file; nil of those found:

	ctx   context.Context    //nolint:containedctx // that of its run; nil before the host works
	leave context.CancelFunc // ends ctx
	left  chan struct{}      // closed when the runner has ended
	gone  chan struct{}      // closed when it has left since the file has it no more
	begun chan struct{}      // closed when it has a runner; only of one that came while the host ran
	first *job.Config        // as it was when it came; what needs a restart stays so

	// Guarded by the host's mu:

	config *job.Config    // as the server's own file has it, or, for want of that, as it was found; not changed
	runner *runner.Runner // nil: it does not run
	fault  string         // why it does not run; empty also if its code says why
	leaves bool           // the file has it no more
}

// live lets a job of the server's own file run as long as ctx, or until it leaves.
func (j *hosted) live(ctx context.Context) { j.ctx, j.leave = context.WithCancel(ctx) }

// newHosted is a job of the server's own file.
func newHosted(c *job.Config) *hosted {
	return &hosted{config: c, first: c, tried: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{}), begun: make(chan struct{})}
}

// ails is why this server does not run the job's code; empty if it does.
func (j *hosted) ails() string {
	if j.fault != "" || j.code == nil {
		return j.fault
	}
	return j.code.Fault()
}

// waits tells whether a job of the server's own file has not begun because its
// module is not there yet.
func (j *hosted) waits() bool {
	select {
	case <-j.tried:
		return false
	default:
		return j.tried != nil
	}
}

// runnerOf makes the runner of a job. changed is told what becomes of the job.
func (h *Host) runnerOf(j *hosted, changed func(*job.Config)) *runner.Runner {
	c := *j.config
	deal := &assign.Assigner{Strategies: h.o.Strategies, Module: j.code.Shard, Namespace: h.o.Namespace, Log: h.o.Log, Work: &h.deals}
	o := runner.Options{
		Sessions: h.sessions, Layout: layout.New(c.Layout, h.o.Namespace, c.Name), Config: j.config, Instance: h.o.Instance,
		Clock: clock.New(h.tick, c.Name), Guests: j.code, Assigner: deal, Changed: changed,
		Labels: h.o.Labels, Address: h.store.Address(), Knows: assign.Known(h.o.Strategies),
		Sink: sinks(h.o.Sinks), Workers: h.workers, Commands: h.outside, Looks: h.looks, DrainTimeout: h.o.DrainTimeout, Observe: h.observer(), Log: h.o.Log,
	}
	if !j.found {
		o.Define = func(file job.Config) definition.Definition {
			d := h.defined(file)
			h.applied.recall(c.Name, &d)
			return d
		}
		o.Defined = func(said []byte) { h.applied.keep(c.Name, said) }
	}
	return runner.New(o)
}

// defined is what the server's own file says of a job.
func (h *Host) defined(c job.Config) definition.Definition {
	d := layout.New(c.Layout, h.o.Namespace, c.Name).Define(c)
	for _, code := range []*definition.Code{d.Module.Code, d.Module.Strategy} {
		if code == nil {
			continue
		}
		if f, ok := h.store.File(code.Name); ok && h.o.Runner == nil {
			code.Reference = "file:" + f.Path
		}
	}
	return d
}

// observer is what Options name, as a runner calls it; nil if they name none.
func (h *Host) observer() func(runner.Event) {
	if h.o.Observe == nil {
		return nil
	}
	return func(e runner.Event) { h.o.Observe(Event(e)) }
}

// beginOwn lets a job of the server's own file run, once its module was tried.
func (h *Host) beginOwn(j *hosted) {
	fault := j.ails()
	h.mu.Lock()
	file := j.config // nobody changes it any more; another may take its place
	last := file     // of the job's loop
	j.code.SetPeers(h.discovery.peersOf(file.Name))
	j.runner = h.runnerOf(j, func(c *job.Config) {
		if c == nil || h.o.Runner != nil || supply.SameCode(c, last) {
			return
		}
		last = c
		h.prefetch(j, *c)
	})
	h.mu.Unlock()
	if fault != "" {
		h.o.Log.Error("job refused, its runs will fail", "job", file.Name, "error", fault)
	}
	if file.StrategyModule != "" {
		h.deals.Go(func() { j.code.CheckStrategy(j.ctx, *file) })
	}
	if err := h.begin(j.ctx, j, func() { close(j.left) }); err != nil {
		close(j.left)
		h.o.Log.Error("the job does not run", "job", file.Name, "error", err)
	}
	if h.o.Runner == nil && file.ModuleDigest != "" {
		h.prefetch(j, *file) // what was not here may be with others
	}
}

// work waits for all runners, and keeps what went wrong with them.
type work struct {
	sync.WaitGroup
	mu     sync.Mutex // guards faults
	faults []error
}

// begin lets a job run until ctx ends. When it has ended, ended is called. A job
// that runs already is refused: both would be the same member, and run everything
// twice.
func (h *Host) begin(ctx context.Context, j *hosted, ended func()) error {
	h.mu.Lock()
	name := j.config.Name // an edit may change the rest
	twice := h.busy[name]
	h.busy[name] = true
	h.mu.Unlock()
	if twice {
		return failf(Internal, nil, "job %s runs on this server already", name)
	}
	h.at.Add(1)
	j.runner.Start(ctx, func(err error) {
		defer h.at.Done()
		defer ended()
		h.mu.Lock()
		delete(h.busy, name)
		h.mu.Unlock()
		switch {
		case err != nil:
			if ctx.Err() == nil { // Run returns the error, but much later
				h.o.Log.Error("the job ended, the others go on", "job", name, "error", err)
			}
			h.at.mu.Lock()
			defer h.at.mu.Unlock()
			h.at.faults = append(h.at.faults, failf(Internal, err, "job %s", name))
		case ctx.Err() == nil:
			h.o.Log.Warn("the job was shut down on this server", "job", name)
		}
	})
	return nil
}
