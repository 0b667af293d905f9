package host

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// Host runs jobs. Make it with New.
type Host struct {
	o     Options
	begun atomic.Bool
	ready chan struct{}
	tick  *schedule.Ticker
	deals sync.WaitGroup // questions to strategies

	mu       sync.Mutex // guards what follows: Run fills it in, anybody reads
	jobs     []hosted   // in the order of Options.Jobs
	registry registry.Registry
	trunk    *session.Trunk // the one session of all jobs
}

// hosted is one job of the host.
type hosted struct {
	config job.Config
	runner *runner.Runner // nil: not running, or refused
	fault  string         // why it was refused
}

// New validates the options; it opens and starts nothing. Its error is an
// *Error with everything that is wrong.
func New(o Options) (*Host, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, failf(Invalid, err, "options of the host")
	}
	h := &Host{o: o, ready: make(chan struct{}), tick: schedule.NewTicker(runtime.GOMAXPROCS(0))}
	for _, c := range o.Jobs {
		h.jobs = append(h.jobs, hosted{config: c})
	}
	return h, nil
}

// Ready is closed when every job that was not refused has joined the registry.
func (h *Host) Ready() <-chan struct{} { return h.ready }

// Run runs the jobs until ctx ends, and then drains. A job whose module cannot
// be used is refused, and says why in Jobs, while the others run; Run returns
// at once only if all of them are refused. Nothing that it started is left
// when it returns. It can be called once.
func (h *Host) Run(ctx context.Context) (err error) {
	if h.begun.Swap(true) {
		return failf(Refused, nil, "a host runs only once")
	}
	reg, closeRegistry, err := h.openRegistry()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRegistry()) }()
	code, err := openCode(ctx, h.o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, code.close()) }()
	if ctx.Err() != nil {
		return nil // nothing has begun; that modules were not loaded is nobody's fault
	}
	if err := h.hire(reg, code); err != nil {
		return err
	}
	h.deals.Go(func() { code.tryStrategies(ctx) })
	return h.work(ctx)
}

// maxCommit is the largest transaction of the registry inside, in bytes. Unlike
// others it sends nothing over a network: a reshard of as many items as a job
// can have fits.
const maxCommit = 64 << 20

func (h *Host) openRegistry() (registry.Registry, func() error, error) {
	if h.o.Registry != nil {
		return h.o.Registry, func() error { return nil }, nil
	}
	if h.o.DataDir == "" {
		r := embedded.MemoryWith(embedded.Options{MaxCommit: maxCommit, Logger: h.o.Log})
		return r, r.Close, nil
	}
	r, err := embedded.Open(filepath.Join(h.o.DataDir, "registry"), embedded.Options{
		Relaxed: layout.Relaxed, MaxCommit: maxCommit, Logger: h.o.Log,
	})
	if err != nil {
		return nil, nil, failf(Refused, err, "data directory %s", h.o.DataDir)
	}
	return r, r.Close, nil
}

// hire makes the runner of each job.
func (h *Host) hire(reg registry.Registry, code *code) error {
	trunk := session.New(session.Options{Registry: reg, Namespace: layout.NewJob(h.o.Namespace, "").Namespace(), Log: h.o.Log})
	slots := runner.NewSlots(h.o.Workers)
	var faults []error
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registry, h.trunk = reg, trunk
	for i := range h.jobs {
		var err error
		if h.jobs[i], err = h.hireJob(h.jobs[i].config, code, slots); err != nil {
			faults = append(faults, failf(Invalid, err, "job %s is refused", h.jobs[i].config.Name))
		}
	}
	if n := len(h.jobs); n == 0 || len(faults) < n {
		for _, j := range h.jobs { // Run goes on, so nobody is given the faults
			if j.fault != "" {
				h.o.Log.Error("job refused, its runs will fail", "job", j.config.Name, "error", j.fault)
			}
		}
		return nil
	}
	all := errors.Join(faults...)
	kind := Invalid
	if ofTheSystem(all) {
		kind = Internal // another time it may work
	}
	return failf(kind, all, "no job can run")
}

// hireJob makes the runner of one job. One that this server cannot run the code
// of, which the error tells, fires all the same: each fire leaves a row that
// says why.
func (h *Host) hireJob(c job.Config, code *code, slots runner.Slots) (hosted, error) {
	j := hosted{config: c}
	deal := &dealer{o: &h.o, log: h.o.Log.With("job", c.Name, "source", "strategy"), work: &h.deals}
	guests, err := code.of(c)
	if err == nil {
		deal.module, err = code.strategist(c)
	}
	if err != nil {
		j.fault = err.Error()
		guests = refusing{err}
	}
	j.runner = runner.New(runner.Options{
		Trunk: h.trunk, Layout: layout.NewJob(h.o.Namespace, c.Name), Config: c, Instance: h.o.Instance,
		Clock: &clock{ticker: h.tick, job: c}, Guests: guests, Dealer: deal,
		Labels: h.o.Labels,
		Sink:   sinks(h.o.Sinks), Slots: slots, DrainTimeout: h.o.DrainTimeout, Observe: h.observe, Log: h.o.Log,
	})
	return j, err
}

func (h *Host) observe(e runner.Event) {
	if h.o.Observe != nil {
		h.o.Observe(Event(e))
	}
}

// work runs session, ticker and runners. Session and ticker end last: runners
// leave the one and take themselves out of the other.
func (h *Host) work(ctx context.Context) error {
	below, stopBelow := context.WithCancel(context.WithoutCancel(ctx))
	var under sync.WaitGroup
	var sessionErr error
	under.Go(func() { sessionErr = h.trunk.Run(below) })
	under.Go(func() {
		if err := h.tick.Run(below); err != nil {
			h.o.Log.Error("the ticker ended", "error", err) // it was made for this run alone
		}
	})
	under.Go(func() { watchClock(below, h.o.Log) })
	h.mu.Lock()
	jobs := h.jobs
	h.mu.Unlock()
	var at work
	for _, j := range jobs {
		h.begin(ctx, j, &at)
	}
	at.Go(func() { h.await(ctx, jobs) })
	<-ctx.Done()
	h.o.Log.Info("stopping", "drain_timeout", h.o.DrainTimeout.String())
	at.Wait()
	h.deals.Wait() // a strategy is not interrupted, only no longer waited for by its job
	stopBelow()
	under.Wait()
	return errors.Join(append(at.faults, sessionErr)...)
}

// work waits for all runners, and keeps what went wrong with them.
type work struct {
	sync.WaitGroup
	mu     sync.Mutex // guards faults
	faults []error
}

// begin lets a job run until ctx ends.
func (h *Host) begin(ctx context.Context, j hosted, at *work) {
	at.Add(1)
	j.runner.Start(ctx, func(err error) {
		defer at.Done()
		switch {
		case err != nil:
			if ctx.Err() == nil { // Run returns the error, but much later
				h.o.Log.Error("the job ended, the others go on", "job", j.config.Name, "error", err)
			}
			at.mu.Lock()
			defer at.mu.Unlock()
			at.faults = append(at.faults, failf(Internal, err, "job %s", j.config.Name))
		case ctx.Err() == nil:
			h.o.Log.Warn("the job was shut down on this server", "job", j.config.Name)
		}
	})
}

// await closes ready when all have joined.
func (h *Host) await(ctx context.Context, jobs []hosted) {
	for _, j := range jobs {
		select {
		case <-j.runner.Joined():
		case <-ctx.Done():
			return
		}
	}
	close(h.ready)
}
