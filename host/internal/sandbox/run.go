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
	ctx     context.Context //nolint:containedctx // ends with the caller's, the engine's life, or deadline and grace
	c       *compilation
	in      *instance // nil between two
	facts   *facts
	soft    time.Time // the deadline; zero: none
	journal *journal  // shared with parts
	outside *outside
	stderr  tail
	gauge   gauge
	script  bool   // a command, called in another way
	batch   *batch // of a dataflow job, while fetch fills it
	share   *share // what process sees of it
	deal    *deal  // of a strategy
	job     string // whose turn it is when memory is short
	busy    bool   // for the budget
	stream  uint32 // which of the streams of random numbers that the seed gives
	streams uint32 // that were given out
	held    uint64 // bytes of the budget for what the host keeps of the run
	room    int    // bytes of the result among them
	stateOK bool   // the state is among them

	phase       abi.Phase // which entry of the guest is being called
	calls, fuel int64
	peak        uint64
	full        bool  // the limit of memory was reached
	starved     error // why the budget refused memory
	result      []byte
	resultLimit int64
	message     string
	done, total int64
	told        time.Time
	sought      string // the path that was asked of no granted directory
	flow        job.Flow

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

func (r *run) overdue() bool { return !r.soft.IsZero() && !time.Now().Before(r.soft) }

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
	if !e.enter() {
		return refuse("%v", ErrClosed)
	}
	defer e.runs.Done()
	if !m.c.hold() {
		return refuse("module %s was closed", m.c.digest)
	}
	defer m.c.release()

	call, err := m.c.way(&c)
	if err != nil {
		return refuse("%v", err)
	}
	r := newRun(c, m.c, began)
	end := r.within(ctx)
	defer end()
	r.outside = newOutside(c)
	got := call(r)
	r.detach()
	r.journal.tellDropped(ctx)
	r.judge(&out, got, ctx.Err() != nil || e.life.Err() != nil)
	out.Took = time.Since(began)
	return out
}

func newRun(c job.Call, of *compilation, began time.Time) *run {
	limits := &c.Config.Limits
	r := &run{c: of, job: c.Config.Name, resultLimit: limits.Result, gauge: gauge{limit: limits.Fuel}, worker: c.Worker}
	if c.Config.Timeout > 0 {
		r.soft = began.Add(c.Config.Timeout)
		r.gauge.end = r.soft.Add(graceOf(limits))
	}
	if r.resultLimit <= 0 {
		r.resultLimit = DefaultResult
	}
	r.facts = newFacts(c, of.digest, began, r.soft)
	r.journal = newJournal(&c, of)
	return r
}

// within gives the run its context. The caller's and the engine's life end it,
// and the deadline with its grace.
func (r *run) within(ctx context.Context) (end func()) {
	var hard context.Context
	var cancel context.CancelFunc
	if r.gauge.end.IsZero() {
		hard, cancel = context.WithCancel(ctx)
	} else {
		hard, cancel = context.WithDeadline(ctx, r.gauge.end)
	}
	forget := context.AfterFunc(r.c.engine.life, cancel)
	r.ctx = runContext{hard, r}
	return func() {
		r.detach()
		r.drop(r.held)
		r.c.engine.budget.leave(r)
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

// goOn ends the guest if the run is over. Every function of the host begins with it:
// a guest reports after a million steps, and each may be a call that takes long.
func (r *run) goOn() {
	if r.ctx.Err() != nil {
		panic(errOver)
	}
}
