package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/host/job"
)

// run is one attempt, or a part of one, with what the host functions may touch.
// They find it in their context; as it goes on one goroutine and has one
// instance at a time, nothing here needs a lock. What parts share has its own.
type run struct {
	ctx         context.Context //nolint:containedctx // ends with the caller's, the engine's life, or deadline and grace
	c           *compilation
	in          *instance // nil between two
	facts       *runFacts
	deadline    time.Time // the deadline; zero: none
	log         *guestLog // shared with parts
	state       *hostState
	stderr      lastBytes
	fuelGauge   fuelGauge
	script      bool        // a command, called in another way
	batch       *batch      // of a dataflow job, while fetch fills it
	subset      *subset     // what process sees of it
	assignment  *assignment // of a strategy
	job         string      // whose turn it is when memory is short
	busy        bool        // for the budget
	stream      uint32      // which of the streams of random numbers that the seed gives
	streams     uint32      // that were given out
	heldBytes   uint64      // bytes of the budget for what the host keeps of the run
	resultBytes int         // bytes of the result among them
	stateHeld   bool        // the state is among them

	phase              abi.Phase // which entry of the guest is being called
	calls, fuel        int64
	peak               uint64
	memoryLimitReached bool  // the limit of memory was reached
	memoryErr          error // why the budget refused memory
	result             []byte
	resultLimit        int64
	message            string
	done, total        int64
	progressLogged     time.Time
	ungrantedPath      string // the path that was asked of no granted directory
	flow               job.Flow

	worker job.Worker // nil: nothing bounds how many run
}

type runKey struct{}

// runContext is a context that knows its run at once: guests ask often.
type runContext struct {
	context.Context //nolint:containedctx // it is one
	r               *run
}

// Value implements context.Context.
func (c runContext) Value(key any) any {
	if key == (runKey{}) {
		return c.r
	}
	return c.Context.Value(key)
}

func runOf(ctx context.Context) *run { return ctx.Value(runKey{}).(*run) }

func (r *run) overdue() bool { return !r.deadline.IsZero() && !time.Now().Before(r.deadline) }

// Run executes one attempt of what the call's kind or event says, and ends
// what it made for that, unless the job keeps a pool. It returns when the guest
// has ended: by itself, at its deadline plus grace, or because ctx was
// cancelled. A call that ends after its deadline is a Deadline whatever it
// returned; one that ctx ended is Stopped.
func (e *Engine) Run(ctx context.Context, m *Module, c job.Call) job.Outcome {
	began := time.Now()
	out := job.Outcome{Digest: m.c.digest}
	refuse := func(format string, args ...any) job.Outcome {
		out.Verdict, out.Error = job.Failure, fmt.Sprintf(format, args...)
		return out
	}
	if !e.beginUse() {
		return refuse("%v", ErrClosed)
	}
	defer e.runs.Done()
	if !m.c.addUser() {
		return refuse("module %s was closed", m.c.digest)
	}
	defer m.c.removeUser()

	call, err := m.c.attemptFunc(&c)
	if err != nil {
		return refuse("%v", err)
	}
	r := newRun(c, m.c, began)
	end := r.open(ctx)
	defer end()
	r.state = newOutside(c)
	res := call(r)
	r.detach()
	r.log.logDroppedAtEnd(ctx)
	r.fillOutcome(&out, res, ctx.Err() != nil || e.ctx.Err() != nil)
	out.Took = time.Since(began)
	return out
}

func newRun(c job.Call, of *compilation, began time.Time) *run {
	limits := &c.Config.Limits
	r := &run{c: of, job: c.Config.Name, resultLimit: limits.Result, fuelGauge: fuelGauge{limit: limits.Fuel}, worker: c.Worker}
	if c.Config.Timeout > 0 {
		r.deadline = began.Add(c.Config.Timeout)
		r.fuelGauge.end = r.deadline.Add(graceOf(limits))
	}
	if r.resultLimit <= 0 {
		r.resultLimit = DefaultResult
	}
	r.facts = newFacts(c, of.digest, began, r.deadline)
	r.log = newGuestLog(&c, of)
	return r
}

// open gives the run its context. The caller's and the engine's life end it,
// and the deadline with its grace.
func (r *run) open(ctx context.Context) (end func()) {
	var hard context.Context
	var cancel context.CancelFunc
	if r.fuelGauge.end.IsZero() {
		hard, cancel = context.WithCancel(ctx)
	} else {
		hard, cancel = context.WithDeadline(ctx, r.fuelGauge.end)
	}
	forget := context.AfterFunc(r.c.engine.ctx, cancel)
	r.ctx = runContext{hard, r}
	return func() {
		r.detach()
		r.dropMemory(r.heldBytes)
		r.c.engine.budget.endRun(r)
		forget()
		cancel()
	}
}

func graceOf(limits *job.Limits) time.Duration {
	if limits.Grace > 0 {
		return limits.Grace
	}
	return DefaultGrace
}

func (r *run) grace() time.Duration { return graceOf(&r.facts.call.Config.Limits) }

// memoryLimit is what one instance may have, in whole pages.
func (r *run) memoryLimit() uint64 {
	if most := r.facts.call.Config.Limits.Memory; most > 0 {
		return min(uint64(most), wasm.MaxPages*pageSize) / pageSize * pageSize
	}
	return DefaultMemory
}

// openFiles is how many one instance may have open.
func (r *run) openFiles() int {
	return orDefault(r.facts.call.Config.Limits.OpenFiles, DefaultOpenFiles)
}

// checkRunning ends the guest if the run is over. Every function of the host begins with it:
// a guest reports after a million steps, and each may be a call that takes long.
func (r *run) checkRunning() {
	if r.ctx.Err() != nil {
		panic(errRunEnded)
	}
}
