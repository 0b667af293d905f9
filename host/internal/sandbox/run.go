package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/host/job"
)

// run is one attempt, or a subtask of one, with the data that host functions use.
// They get it from their context. A run uses one goroutine and one instance at a
// time, so it needs no lock; data shared by subtasks has its own.
type run struct {
	ctx         context.Context //nolint:containedctx // ends with the caller's context, with the engine's, or at deadline plus grace
	compiled    *compilation
	in          *instance // nil while there is none
	facts       *runFacts
	deadline    time.Time // zero: none
	log         *guestLog // shared with subtasks
	hostState   *hostState
	stderr      lastBytes
	fuelGauge   fuelGauge
	script      bool        // a command, which is called differently
	batch       *batch      // of a dataflow job
	subset      *subset     // the elements that process sees
	assignment  *assignment // of a strategy
	job         string      // name of the job, for the budget
	active      bool        // counted by the budget
	stream      uint32      // number of its stream of random numbers
	streams     uint32      // streams in use
	heldBytes   uint64      // bytes of the budget for data that the host keeps
	resultBytes int         // bytes of the result among them
	stateHeld   bool        // the state is among them

	phase              abi.Phase // of the entry that is being called
	calls, fuel        int64
	peak               uint64
	memoryLimitReached bool  // of the instance
	memoryErr          error // why the budget refused memory
	result             []byte
	resultLimit        int64
	message            string
	done, total        int64
	progressLogged     time.Time
	ungrantedPath      string       // a path outside all granted directories that the guest used
	pathFailed         bool         // a WASI function with a path failed
	refused            refusedCall  // the last host function that was refused
	cause              refusalCause // of the refusal by the host function that is running
	flow               job.Flow

	worker job.Worker // nil: workers are not limited
}

type runKey struct{}

// runContext is a context that returns its run quickly: guests call host functions
// often.
type runContext struct {
	context.Context //nolint:containedctx // it is a context
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

// Run executes one attempt of the call's kind or event. It returns when the guest
// has ended: by itself, at its deadline plus grace, or because ctx was cancelled. A
// call that ends after its deadline has the verdict Deadline whatever it returned;
// one that ctx ended has the verdict Stopped. The instance is destroyed unless the
// job has a pool.
func (e *Engine) Run(ctx context.Context, m *Module, c job.Call) job.Outcome {
	began := time.Now()
	out := job.Outcome{Digest: m.compiled.digest}
	refuse := func(format string, args ...any) job.Outcome {
		out.Verdict, out.Error = job.Failure, fmt.Sprintf(format, args...)
		return out
	}
	if !e.beginUse() {
		return refuse("%v", ErrClosed)
	}
	defer e.runs.Done()
	if !m.compiled.addUser() {
		return refuse("module %s was closed", m.compiled.digest)
	}
	defer m.compiled.removeUser()

	call, err := m.compiled.attemptFunc(&c)
	if err != nil {
		return refuse("%v", err)
	}
	r := newRun(&c, m.compiled, began)
	end := r.open(ctx)
	defer end()
	r.hostState = newHostState(&c)
	res := call(r)
	r.detach()
	r.log.logDroppedAtEnd(ctx)
	r.fillOutcome(&out, res, ctx.Err() != nil || e.ctx.Err() != nil)
	out.Took = time.Since(began)
	return out
}

// newRun returns a run of a call, with the limits of its job. Its time counts from began.
// It has no context before open, and no instance before attach.
func newRun(c *job.Call, compiled *compilation, began time.Time) *run {
	limits := &c.Config.Limits
	r := &run{compiled: compiled, job: c.Config.Name, resultLimit: orDefault(limits.Result, DefaultResult), fuelGauge: fuelGauge{limit: limits.Fuel}, worker: c.Worker}
	if c.Config.Timeout > 0 {
		r.deadline = began.Add(c.Config.Timeout)
		r.fuelGauge.end = r.deadline.Add(graceOf(limits))
	}
	r.facts = newFacts(c, compiled.digest, began, r.deadline)
	r.log = newGuestLog(c, compiled)
	return r
}

// open creates the run's context, which ends with the caller's, the engine's, or at the
// deadline plus grace. The returned function ends the run, and returns its instance and
// its memory.
func (r *run) open(ctx context.Context) (end func()) {
	var hard context.Context
	var cancel context.CancelFunc
	if r.fuelGauge.end.IsZero() {
		hard, cancel = context.WithCancel(ctx)
	} else {
		hard, cancel = context.WithDeadline(ctx, r.fuelGauge.end)
	}
	forget := context.AfterFunc(r.compiled.engine.ctx, cancel)
	r.ctx = runContext{hard, r}
	return func() {
		r.detach()
		r.dropMemory(r.heldBytes)
		r.compiled.engine.budget.endRun(r)
		forget()
		cancel()
	}
}

func graceOf(limits *job.Limits) time.Duration { return orDefault(limits.Grace, DefaultGrace) }

// memoryLimit returns the maximum memory of a guest in bytes, rounded down to whole pages.
func (r *run) memoryLimit() uint64 {
	if limit := r.facts.call.Config.Limits.Memory; limit > 0 {
		return min(uint64(limit), wasm.MaxPages*pageSize) / pageSize * pageSize
	}
	return DefaultMemory
}

// openFiles returns the maximum number of open files of an instance.
func (r *run) openFiles() int {
	return orDefault(r.facts.call.Config.Limits.OpenFiles, DefaultOpenFiles)
}

// checkRunning ends the guest if the run is over. All host functions call it first: the
// guest's own code checks that only about once in a million instructions, and each of them
// could be a slow call.
func (r *run) checkRunning() {
	if r.ctx.Err() != nil {
		panic(errRunEnded)
	}
}
