package host

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
