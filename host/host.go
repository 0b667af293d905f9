package host

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/clock"
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/outputs"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/internal/supply"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Host runs jobs. Make it with New.
type Host struct {
	o     Options
	out   outputs.Outputs
	begun atomic.Bool
	ready chan struct{}
	tick  *schedule.Ticker
	deals sync.WaitGroup // questions to strategies

	mu       sync.Mutex // guards what follows: Run fills it in, anybody reads
	jobs     []*hosted  // of the server's own file, in its order; those of the registry follow, by name
	registry registry.Registry
	sessions *session.Server // the one session of all jobs
	busy     map[string]bool // the jobs that have begun, and not ended

	store   *supply.Store
	applied *applied
	loading sync.WaitGroup // modules of the server's own file
	workers *workers.Pool  // of all jobs, for guests
	outside *workers.Pool  // of all jobs, for commands of the operating system
	looks   runner.Slots   // of all jobs
	settled func()         // the jobs have begun
	at      work

	working   chan struct{} // closed when discovery is there
	discovery *discoverer
	over      chan struct{} // closed when Run has ended
	editing   chan struct{} // holds one: who has put it in changes jobs or modules
}

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

// New validates the options; it opens and starts nothing. Its error is an
// *Error with everything that is wrong.
func New(o Options) (*Host, error) {
	o = o.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, failf(Invalid, err, "options of the host")
	}
	var out outputs.Outputs
	out, o.Log, o.Observe = outputs.Detach(o.Log, o.Observe, (*Event).size)
	h := &Host{o: o, out: out, settled: func() {}, ready: make(chan struct{}), tick: schedule.NewTicker(runtime.GOMAXPROCS(0)), busy: map[string]bool{}, working: make(chan struct{}), over: make(chan struct{}), editing: make(chan struct{}, 1)}
	for i := range h.o.Jobs {
		c := &h.o.Jobs[i]
		h.jobs = append(h.jobs, newHosted(c))
	}
	return h, nil
}

// Ready is closed when every job that was not refused has joined the registry, and what
// Options say of them is there.
func (h *Host) Ready() <-chan struct{} { return h.ready }

// Run runs the jobs until ctx ends, and then drains. A job whose module cannot
// be used is refused, and says why in Jobs, while the others run; Run returns
// at once only if all of them are refused. Nothing that it started is left
// when it returns, but for one call each of the log, of Observe and of the
// history that does not return. It can be called once.
func (h *Host) Run(ctx context.Context) (err error) {
	if h.begun.Swap(true) {
		return failf(Refused, nil, "a host runs only once")
	}
	defer close(h.over)
	defer h.out.Flush()
	if h.o.Alone {
		h.settled = tightGC()
		if h.o.Runner == nil {
			defer boundHeap(h.o.Memory, h.o.Log)()
		}
	}
	defer h.settled()
	reg, closeRegistry, err := h.openRegistry()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRegistry()) }()
	closeDataDir, err := h.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer closeDataDir()
	if err := h.openStore(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.store.Close()) }()
	defer h.dismiss()
	defer h.loading.Wait()
	h.applied = readApplied(&h.o)
	h.hire(reg)
	if err := h.equip(ctx); err != nil || ctx.Err() != nil {
		return err // of modules that were not loaded because of ctx nobody is at fault
	}
	if err := h.store.Listen(ctx); err != nil {
		return failf(Refused, err, "modules for other servers")
	}
	return h.work(ctx)
}

// looksAtOnce is how many jobs read all of their nodes at once: enough to keep
// the registry busy.
const looksAtOnce = 64

// hire makes the runner of each job.
func (h *Host) hire(reg registry.Registry) {
	sessions := session.New(session.Options{Registry: reg, Namespace: layout.NewJob(h.o.Namespace, "").Namespace(), Log: h.o.Log})
	h.workers, h.outside = workers.New(h.o.Workers), workers.New(h.o.Workers)
	h.looks = runner.NewSlots(looksAtOnce)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registry, h.sessions = reg, sessions
	for _, j := range h.jobs {
		j.code = h.store.NewCode(j.config)
	}
}

// equip begins to load the modules of the jobs, and returns when one job can run.
// The rest goes on beside the jobs that run, so that one large module holds up
// its own job alone. A job that this server cannot run the code of fires all the
// same: each fire leaves a row that says why. The error is that nothing at all
// can run.
func (h *Host) equip(ctx context.Context) error {
	if len(h.jobs) == 0 {
		return nil
	}
	reads := make(chan struct{}, runtime.GOMAXPROCS(0)) // one for each file that is being read
	tried := make(chan error, len(h.jobs))
	for _, j := range h.jobs {
		h.loading.Go(func() {
			defer close(j.tried)
			reads <- struct{}{}
			c := h.identified(j)
			<-reads
			tried <- h.load(ctx, j, c)
		})
	}
	if h.o.Discover {
		return nil // there may be others
	}
	var faults []error
	for range h.jobs {
		fault := <-tried
		if fault == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // that modules were not loaded is nobody's fault then
		}
		faults = append(faults, fault)
	}
	all := errors.Join(faults...)
	kind := Invalid
	if ofTheSystem(all) {
		kind = Internal // another time it may work
	}
	return failf(kind, all, "no job can run")
}

// identified is a job with the digests of its modules, which it keeps.
func (h *Host) identified(j *hosted) job.Config {
	c := *j.config
	h.identify(&c)
	h.mu.Lock()
	*j.config = c
	h.mu.Unlock()
	return c
}

// load loads the modules of one job. The sandbox decides in which order.
func (h *Host) load(ctx context.Context, j *hosted, c job.Config) error {
	if err := j.code.Load(ctx, c); err != nil {
		return failf(Invalid, err, "job %s is refused", c.Name)
	}
	return nil
}

// identify gives a job of the server's own file the digests of its modules, as
// far as they can be told.
func (h *Host) identify(c *job.Config) {
	if h.o.Runner != nil {
		return
	}
	if c.Module != "" {
		c.ModuleDigest = h.store.Digest(c.Module)
	}
	if c.StrategyModule != "" {
		c.StrategyDigest = h.store.Digest(c.StrategyModule)
	}
}

// dismiss lets go of what the jobs hold.
func (h *Host) dismiss() {
	for _, j := range h.jobs {
		j.code.Close()
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

// work runs session, ticker and runners. Session and ticker end last: runners
// leave the one and take themselves out of the other.
func (h *Host) work(ctx context.Context) error {
	below, stopBelow := context.WithCancel(context.WithoutCancel(ctx))
	var under sync.WaitGroup
	var sessionErr error
	under.Go(func() { sessionErr = h.sessions.Run(below) })
	under.Go(func() {
		if err := h.tick.Run(below); err != nil {
			h.o.Log.Error("the ticker ended", "error", err) // it was made for this run alone
		}
	})
	under.Go(func() { watchClock(below, h.o.Log) })
	under.Go(func() { h.applied.run(below) })
	under.Go(func() {
		if err := h.store.Serve(below); err != nil {
			h.o.Log.Error("no modules are given to other servers any more", "error", err)
		}
	})
	d := newDiscoverer(ctx, h)
	h.discovery = d
	h.mu.Lock()
	jobs := slices.Clone(h.jobs)
	for _, j := range jobs {
		j.live(ctx)
	}
	h.mu.Unlock()
	d.begin()
	var begin sync.WaitGroup
	for _, j := range jobs {
		begin.Add(1)
		h.at.Go(func() {
			defer begin.Done()
			select {
			case <-j.tried:
				h.beginOwn(j)
			case <-ctx.Done():
			}
		})
		h.monitor(j)
	}
	close(h.working)
	h.at.Go(func() {
		begin.Wait() // which ends with ctx
		h.await(ctx, jobs)
	})
	<-ctx.Done()
	drain := h.o.DrainTimeout
	if errors.Is(context.Cause(ctx), job.ErrStopNow) {
		drain = 0
	}
	h.o.Log.Info("stopping", "drain_timeout", drain.String())
	h.at.Wait()
	h.editing <- struct{}{} // nothing is changed any more
	discoveryErr := d.end()
	h.deals.Wait() // a strategy is not interrupted, only no longer waited for by its job
	stopBelow()
	under.Wait()
	return errors.Join(append(h.at.faults, discoveryErr, sessionErr)...)
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

// await closes ready when all have joined, and those that were found at the
// start, too, as far as they may.
func (h *Host) await(ctx context.Context, jobs []*hosted) {
	if ctx.Err() != nil {
		return // some may have no runner
	}
	for _, j := range jobs {
		select {
		case <-j.runner.Joined():
		case <-j.gone: // the file has it no more
		case <-ctx.Done():
			return
		}
	}
	if h.o.Discover {
		select {
		case <-h.discovery.listed:
		case <-ctx.Done():
			return
		}
	}
	for _, c := range h.discovery.known() {
		select {
		case <-c.settled:
		case <-ctx.Done():
			return
		}
	}
	close(h.ready)
	h.settled()
}
