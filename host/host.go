package host

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/wasmjob/wasmjob/host/internal/finder"
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

// Host runs jobs on one server. Create one with New.
type Host struct {
	o             Options
	out           outputs.Outputs
	begun         atomic.Bool   // Run was called
	ready         chan struct{} // closed as described at Ready
	tick          *schedule.Ticker
	strategyCalls sync.WaitGroup

	mu       sync.Mutex // guards the fields up to the next empty line, which Run sets
	jobs     []*hosted  // the host's own jobs in the order of the file, then jobs found in the registry, by name
	registry registry.Registry
	sessions *session.Server // the one session, shared by all jobs
	busy     map[string]bool // names of the jobs whose runners have begun and not ended
	started  bool            // the jobs have begun
	draining bool            // the jobs are ending

	store   *supply.Store
	applied *applied
	loading sync.WaitGroup // jobs whose code is being loaded at the start
	workers *workers.Pool  // shared by the guests of all jobs
	outside *workers.Pool  // shared by the native commands of all jobs
	looks   runner.Slots   // limits how many jobs read all their nodes at a time
	relaxGC func()         // undoes tightGC once the jobs have begun
	work    work           // the goroutines of the jobs and of edits
	pulse   *pulse

	working chan struct{}   // closed when running and finder are set
	running context.Context //nolint:containedctx // of Run
	finder  *finder.Finder
	over    chan struct{} // closed when Run has ended
	editing chan struct{} // holds a value during an edit, and from the end of Run on
}

// New returns a host that has started and opened nothing yet. If the options are not valid, the
// error is an *Error that lists all faults.
func New(o Options) (*Host, error) {
	o = o.WithDefaults()
	if err := o.validate(); err != nil {
		return nil, failf(Invalid, err, "options of the host")
	}
	var out outputs.Outputs
	out, o.Log, o.Observe = outputs.Detach(o.Log, o.Observe, (*Event).size)
	h := &Host{o: o, out: out, relaxGC: func() {}, ready: make(chan struct{}), tick: schedule.NewTicker(runtime.GOMAXPROCS(0)), busy: map[string]bool{}, working: make(chan struct{}), pulse: newPulse(), over: make(chan struct{}), editing: make(chan struct{}, 1)}
	for i := range h.o.Jobs {
		c := &h.o.Jobs[i]
		h.jobs = append(h.jobs, newHosted(c))
	}
	return h, nil
}

// Ready returns a channel that is closed when every job that was not refused has joined and the
// registry has what Options define.
func (h *Host) Ready() <-chan struct{} { return h.ready }

// Run runs the jobs until ctx ends, and then drains. A job whose module cannot be used is
// refused: Jobs says why, and the other jobs run. Run returns early only if every job is
// refused. When Run returns, everything that it started has ended, except at most one call each
// of the log, of Observe and of the history, if it blocks. Run can be called once.
func (h *Host) Run(ctx context.Context) (err error) {
	if h.begun.Swap(true) {
		return failf(Refused, nil, "a host can run only once")
	}
	defer close(h.over)
	defer h.out.Flush()
	if h.o.Alone {
		h.relaxGC = tightGC()
		if h.o.Runner == nil {
			defer boundHeap(h.o.Memory, h.o.Log)()
		}
	}
	defer h.relaxGC()
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
	defer h.closeCode()
	defer h.loading.Wait()
	h.applied = readApplied(&h.o)
	h.setUpJobs(reg)
	if err := h.store.Listen(ctx); err != nil { // before modules are loaded, which may take long
		return failf(Refused, err, "modules for other servers")
	}
	if err := h.loadModules(ctx); err != nil || ctx.Err() != nil {
		return err // nil if ctx ended: cancelled, not failed
	}
	return h.runJobs(ctx)
}

// looksAtOnce is how many jobs read all their nodes at a time. It is enough to keep the
// registry busy.
const looksAtOnce = 64

// setUpJobs creates the parts that all jobs share, and the code of each job.
func (h *Host) setUpJobs(reg registry.Registry) {
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

// runJobs runs session, ticker, discovery and the jobs until ctx ends. Session and ticker end
// last, because a runner uses both to leave.
func (h *Host) runJobs(ctx context.Context) error {
	endShared := h.runShared(ctx)
	h.running, h.finder = ctx, h.newFinder(ctx)
	h.mu.Lock()
	h.started = true
	jobs := slices.Clone(h.jobs)
	for _, j := range jobs {
		j.setContext(ctx)
	}
	h.mu.Unlock()
	h.finder.Begin()
	var begin sync.WaitGroup
	for _, j := range jobs {
		begin.Add(1)
		h.work.Go(func() {
			defer begin.Done()
			select {
			case <-j.loaded:
				h.beginOwn(j)
			case <-ctx.Done():
			}
		})
		h.monitor(j)
	}
	close(h.working)
	h.work.Go(func() {
		begin.Wait() // ends with ctx
		h.awaitJobs(ctx, jobs)
	})
	<-ctx.Done()
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	drain := h.o.DrainTimeout
	if errors.Is(context.Cause(ctx), job.ErrStopNow) {
		drain = 0
	}
	h.o.Log.Info("stopping", "drain_timeout", drain.String())
	h.work.Wait()
	h.editing <- struct{}{} // wait for the last edit, and prevent others
	finderErr := h.finder.End()
	h.strategyCalls.Wait() // a strategy cannot be interrupted, and its job does not wait for it any more
	return errors.Join(append(h.work.faults, finderErr, endShared())...)
}

// runShared runs the parts that all jobs share, until end is called.
func (h *Host) runShared(ctx context.Context) (end func() error) {
	shared, stop := context.WithCancel(context.WithoutCancel(ctx))
	var sharing sync.WaitGroup
	var sessionErr error
	sharing.Go(func() { sessionErr = h.sessions.Run(shared) })
	sharing.Go(func() {
		if err := h.tick.Run(shared); err != nil {
			h.o.Log.Error("the ticker ended", "error", err) // happens only if Run is called twice
		}
	})
	sharing.Go(func() { watchClock(shared, h.o.Log) })
	sharing.Go(func() { h.watchPulse(shared) })
	sharing.Go(func() { h.applied.run(shared) })
	sharing.Go(func() {
		if err := h.store.Serve(shared); err != nil {
			h.o.Log.Error("modules are not served to other servers any more", "error", err)
		}
	})
	return func() error {
		stop()
		sharing.Wait()
		return sessionErr
	}
}

// awaitJobs closes ready when the given jobs, the host's own, have joined, and every job that
// discovery found at the start has joined or was refused.
func (h *Host) awaitJobs(ctx context.Context, jobs []*hosted) {
	if ctx.Err() != nil {
		return // some jobs may have no runner
	}
	for _, j := range jobs {
		select {
		case <-j.runner.Joined():
		case <-j.gone: // an edit has removed the job
		case <-ctx.Done():
			return
		}
	}
	if h.finder.Await(ctx) {
		close(h.ready)
		h.relaxGC()
	}
}
