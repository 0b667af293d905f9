package host

import (
	"cmp"
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

// hosted is one job of the host: one of its own, which the server's file or Put defines, or one
// that discovery found in the registry.
type hosted struct {
	found bool // in the registry
	code  *supply.Code

	loaded chan struct{} // closed when its code is loaded or refused; nil if found

	// Fields of the host's own jobs; nil if found:

	ctx   context.Context    //nolint:containedctx // of its run; nil before Run begins its jobs
	leave context.CancelFunc // ends ctx
	left  chan struct{}      // closed when its runner has ended
	gone  chan struct{}      // closed when the job has left after an edit removed it
	begun chan struct{}      // closed when the job has a runner after an edit added it

	monitored *monitored

	// Guarded by the host's mu:

	config *job.Config    // as in the server's own file or, if found, in the registry; its fields do not change
	runner *runner.Runner // nil if the job is not running
	fault  string         // why the job is not running; also empty if its code says why
	leaves bool           // an edit has removed it
}

// setContext sets the context of one of the host's own jobs. It ends with ctx or when the job
// is made to leave.
func (j *hosted) setContext(ctx context.Context) { j.ctx, j.leave = context.WithCancel(ctx) }

// newHosted returns one of the host's own jobs.
func newHosted(c *job.Config) *hosted {
	return &hosted{config: c, monitored: &monitored{}, loaded: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{}), begun: make(chan struct{})}
}

// whyRefused returns why this server does not run the job, or "" if it does.
func (j *hosted) whyRefused() string {
	if j.fault != "" || j.code == nil {
		return j.fault
	}
	return j.code.Fault()
}

// isLoading reports whether one of the host's own jobs has not begun because its code is still
// being loaded. A found job has no channel loaded, and the case of a nil channel never happens.
func (j *hosted) isLoading() bool {
	select {
	case <-j.loaded:
		return false
	default:
		return j.loaded != nil
	}
}

// newRunner returns the runner of a job. The runner calls changed with each new configuration,
// and with nil if the registry does not have the job.
func (h *Host) newRunner(j *hosted, changed func(*job.Config)) *runner.Runner {
	c := *j.config
	assigner := &assign.Assigner{Strategies: h.o.Strategies, Module: j.code.Shard, Namespace: h.o.Namespace, Log: h.o.Log, Work: &h.strategyCalls}
	o := runner.Options{
		Sessions: h.sessions, Layout: layout.New(c.Layout, h.o.Namespace, c.Name), Config: j.config, Instance: h.o.Instance,
		Clock: clock.New(h.tick, c.Name), Precede: h.precede, Guests: j.code, Assigner: assigner, Changed: changed,
		Announced: runner.Announced{Labels: h.o.Labels, Address: h.store.Address()}, Knows: assign.Known(h.o.Strategies),
		Sink: sinks(h.o.Sinks), Workers: h.workers, Commands: h.outside, Looks: h.looks, DrainTimeout: h.o.DrainTimeout, Observe: h.observer(), Log: h.o.Log, Logs: h.o.Logs,
	}
	if !j.found {
		o.Define = func(file job.Config) definition.Definition {
			d := h.define(file)
			h.applied.recall(c.Name, &d)
			return d
		}
		o.Defined = func(said []byte) { h.applied.keep(c.Name, said) }
	}
	return runner.New(o)
}

// define returns the definition of a job of the server's own file, with configuration c. It says
// of each module where the file has it from.
func (h *Host) define(c job.Config) definition.Definition {
	d := layout.New(c.Layout, h.o.Namespace, c.Name).Define(c)
	for _, code := range []*definition.Code{d.Module.Code, d.Module.Strategy} {
		if code == nil {
			continue
		}
		if f, ok := h.store.File(code.Name); ok && h.o.Runner == nil {
			code.Reference = cmp.Or(f.Artifact, "file:"+f.Path)
		}
	}
	return d
}

// observer returns the receiver of a runner's events; nil if no option wants them. Kinds that
// only Count wants do not go to Observe.
func (h *Host) observer() func(*runner.Event) {
	if h.o.Observe == nil && h.o.Count == nil {
		return nil
	}
	return func(e *runner.Event) {
		h.o.count((*Event)(e))
		if h.o.Observe != nil && e.Kind != EventRow && e.Kind != EventReshard {
			h.o.Observe(Event(*e))
		}
	}
}

// beginOwn begins one of the host's own jobs, whose code is loaded or refused.
func (h *Host) beginOwn(j *hosted) {
	refused := j.whyRefused()
	h.mu.Lock()
	file := j.config // the Config itself does not change, an edit replaces the pointer
	last := file     // the configuration whose code was last asked for; used by the job's loop alone
	j.code.SetPeers(h.peersOf(file.Name))
	j.runner = h.newRunner(j, func(c *job.Config) {
		if c == nil || h.o.Runner != nil || supply.SameCode(c, last) {
			return
		}
		last = c
		h.prefetch(j, *c)
	})
	h.mu.Unlock()
	if refused != "" {
		h.o.Log.Error("job refused, its runs will fail", "job", file.Name, "error", refused)
	}
	if file.StrategyModule != "" {
		h.strategyCalls.Go(func() { j.code.CheckStrategy(j.ctx, *file) })
	}
	if err := h.begin(j.ctx, j, func() { close(j.left) }); err != nil {
		close(j.left)
		h.o.Log.Error("the job cannot run", "job", file.Name, "error", err)
	}
	if h.o.Runner == nil && file.ModuleDigest != "" {
		h.prefetch(j, *file) // a module that is missing here can be fetched from other servers only now
	}
}

// work waits for goroutines beside Run, and collects the errors of runners.
type work struct {
	sync.WaitGroup
	mu     sync.Mutex // guards faults
	faults []error
}

// begin starts the runner of a job, which runs until ctx ends or an operator shuts the job down on
// this server, and calls ended afterwards. It refuses a job that already has a runner: two
// runners would be the same member and run everything twice.
func (h *Host) begin(ctx context.Context, j *hosted, ended func()) error {
	h.mu.Lock()
	name := j.config.Name // an edit may change other settings
	twice := h.busy[name]
	h.busy[name] = true
	h.mu.Unlock()
	if twice {
		return failf(Internal, nil, "job %s runs on this server already", name)
	}
	h.work.Add(1)
	j.runner.Start(ctx, func(err error) {
		defer h.work.Done()
		defer ended()
		h.mu.Lock()
		delete(h.busy, name)
		h.mu.Unlock()
		switch {
		case err != nil:
			if ctx.Err() == nil { // Run returns the error as well, but much later
				h.o.Log.Error("the job ended, the others go on", "job", name, "error", err)
			}
			h.work.mu.Lock()
			defer h.work.mu.Unlock()
			h.work.faults = append(h.work.faults, failf(Internal, err, "job %s", name))
		case ctx.Err() == nil:
			h.o.Log.Warn("the job was shut down on this server", "job", name)
		}
	})
	return nil
}
