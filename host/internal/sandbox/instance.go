package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/job"
)

// errClosed reports that the guest closed its own instance.
var errClosed = errors.New("the instance was closed")

// instance is a live copy of a module. It serves one run at a time, on one
// goroutine, and may be idle in a pool between runs. What the engine gets when the
// instance is created, such as a clock, must therefore not belong to a run: it asks
// the instance for the current run.
type instance struct {
	compiled *compilation
	mod      api.Module
	mem      linearMemory
	run      *run // current run; nil while idle

	clock  fixedClock
	random io.Reader // created on first use
	stdout lineWriter
	stderr lineWriter

	balance     api.MutableGlobal // balance of fuel
	entries     map[string]*exportedFunc
	callStack   []byte // the engine's call stack, during a run
	stackBytes  uint64 // budget held for the run's stack and log
	listedBytes uint64 // budget held for directory entries
	closeDirs   func()
	results     [1]uint64 // receives the result of an entry

	allow    job.Allow // grants that it was created with
	files    int       // maximum number of open files
	uses     int       // runs so far
	reusable bool      // may serve another run, because nothing failed
}

// context returns a context that follows that of the current run.
func (in *instance) context() context.Context { return instanceContext{in} }

// instanceContext is stateless, since it outlives runs.
type instanceContext struct{ in *instance }

// current returns the context of the run that the instance serves now.
func (f instanceContext) current() context.Context {
	if f.in.run == nil { // between two runs
		return f.in.compiled.engine.ctx
	}
	return f.in.run.ctx
}

// Deadline implements context.Context, as do the methods below.
func (f instanceContext) Deadline() (time.Time, bool) { return f.current().Deadline() }
func (f instanceContext) Done() <-chan struct{}       { return f.current().Done() }
func (f instanceContext) Err() error                  { return f.current().Err() }
func (f instanceContext) Value(key any) any           { return f.current().Value(key) }

// randomSource is the guest's source of random numbers.
type randomSource struct{ in *instance }

// Read implements io.Reader.
func (d randomSource) Read(p []byte) (int, error) {
	if d.in.random == nil {
		d.in.random = d.in.run.randomReader()
	}
	// One call may request as many bytes as the guest's memory has.
	if err := d.in.context().Err(); err != nil {
		return 0, err
	}
	return d.in.random.Read(p[:min(len(p), maxRandomRead)])
}

// attach gives the run an instance: an idle one if one matches, or a new one, for which it
// may wait until there is memory. fresh demands a new one, which nothing has changed.
func (r *run) attach(fresh bool) error {
	if !fresh {
		if in := r.compiled.takeIdle(r); in != nil {
			return r.detachOnError(in, in.beginRun(r))
		}
	}
	in, err := r.newInstance()
	if err != nil {
		return err
	}
	if err := r.compiled.engine.budget.takeMemory(r, in.memoryCost()); err != nil {
		return err
	}
	return r.detachOnError(in, in.instantiate(r))
}

// newInstance returns an instance that has no memory yet. It fails if the job's
// limit is below the module's initial memory.
func (r *run) newInstance() (*instance, error) {
	limit := r.memoryLimit()
	if r.compiled.initialMemory > limit {
		return nil, fmt.Errorf("the module needs %d bytes of initial memory, the limit is %d; raise limits.memory", r.compiled.initialMemory, limit)
	}
	in := &instance{compiled: r.compiled, allow: r.facts.call.Config.Allow, files: r.openFiles(), stackBytes: r.overheadBytes(), closeDirs: func() {}}
	in.mem.limit, in.mem.claimed, in.mem.claimMore = limit, r.compiled.initialMemory, in.claimMemory
	return in, nil
}

// detachOnError gives up an instance that could not start, and returns the error why.
func (r *run) detachOnError(in *instance, err error) error {
	if err != nil {
		in.reusable = false
		r.detach()
	}
	return err
}

// instantiate creates the copy of the module and calls its start functions.
func (in *instance) instantiate(r *run) error {
	if err := in.beginRun(r); err != nil {
		return err
	}
	dirs, closeDirs, err := openGrantedDirs(in.context(), in)
	if err != nil {
		return err
	}
	in.closeDirs = closeDirs
	if err := in.mem.open(in.compiled.maxMemory); err != nil {
		return fmt.Errorf("no memory for the module: %w", err)
	}
	ctx := experimental.WithMemoryAllocator(r.ctx, &in.mem)
	in.mod, err = in.compiled.engine.rt.InstantiateModule(ctx, in.compiled.code, in.config(dirs))
	if err != nil {
		return fmt.Errorf("start the module: %w", err)
	}
	left, ok := in.mod.ExportedGlobal(meter.ExportLeft).(api.MutableGlobal)
	if !ok { // the meter always exports it
		return errors.New("start the module: it is not metered")
	}
	in.balance = left
	for _, name := range in.compiled.startExports {
		if r.script && name == abi.ExportInitialize {
			continue // _start of a command does it
		}
		if _, err := r.callExport(name, abi.InInit); err != nil {
			return err
		}
	}
	return nil
}

// config returns what the instance can use of the system; see the table in ABI.md.
func (in *instance) config(dirs wazero.FSConfig) wazero.ModuleConfig {
	in.stdout = lineWriter{ctx: in.context(), level: slog.LevelInfo, log: in.run.log}
	in.stderr = lineWriter{ctx: in.context(), level: slog.LevelWarn, log: in.run.log, last: &in.run.stderr}
	// The engine must call no start functions: instantiate does, and accounts for their fuel.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStderr(&in.stderr).WithFSConfig(dirs).WithRandSource(randomSource{in})
	config = withClock(config, in, in.run.facts.call)
	for _, k := range slices.Sorted(maps.Keys(in.allow.Env)) {
		config = config.WithEnv(k, in.allow.Env[k])
	}
	if in.run.script {
		return withScript(config, in.run)
	}
	return config.WithStdout(&in.stdout)
}

// beginRun prepares the instance, which is new or was idle, for a run.
func (in *instance) beginRun(r *run) (err error) {
	in.uses++
	in.reusable = true
	in.clock = fixedClock{start: r.facts.clockStart()}
	in.random = nil
	in.mem.limitReached = false
	in.bind(r)
	if in.callStack, err = in.compiled.engine.stacks.takeStack(); err != nil {
		return fmt.Errorf("no memory for the stack: %w", err)
	}
	return nil
}

// handOver passes the instance from one part of a run to another: to a subtask, and back.
func (in *instance) handOver(from, to *run) {
	from.collectUsage()
	from.in = nil
	in.bind(to)
}

// bind attaches the instance to a run.
func (in *instance) bind(r *run) {
	in.run, r.in = r, in
	in.stdout.log, in.stderr.log, in.stderr.last = r.log, r.log, &r.stderr
	// The run has the tally, and the instance has the balance. A difference between them
	// would count as fuel used by the guest, so both become zero.
	r.fuelGauge.tally.GrantSlice(0)
	if in.balance != nil {
		in.balance.Set(0)
	}
}

// callExport calls an export in a phase and returns its result, if it has one. An
// error ends the instance: after a trap its state is undefined.
func (r *run) callExport(name string, phase abi.Phase) (code int32, err error) {
	in := r.in
	// The engine recovers from panics inside the guest. A panic outside would end the
	// process.
	defer func() {
		if p := recover(); p != nil {
			in.reusable = false
			code, err = 0, fmt.Errorf("%s: the host failed: %v", name, p)
		}
	}()
	r.phase = phase
	in.results[0] = 0
	e := in.entry(name)
	e.useStack(in.callStack)
	err = e.CallWithStack(r.ctx, in.results[:])
	r.dropMemory(r.hostState.endCall()) // HTTP responses end with the call
	// After an exit the engine may return no error.
	if err == nil && in.mod.IsClosed() {
		err = errClosed
	}
	if err == nil && r.fuelGauge.overdrawn(int64(in.balance.Get())) {
		err = errFuel
	}
	if err != nil {
		in.reusable = false
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return api.DecodeI32(in.results[0]), nil
}

// entry returns an export. It looks it up once, since the engine allocates a stack each
// time.
func (in *instance) entry(name string) *exportedFunc {
	e := in.entries[name]
	if e == nil {
		e = exportedFuncOf(in.mod.ExportedFunction(name))
		if in.entries == nil {
			in.entries = map[string]*exportedFunc{}
		}
		in.entries[name] = e
	}
	return e
}

// collectUsage adds what the instance used to the run.
func (r *run) collectUsage() {
	in := r.in
	if in.balance != nil {
		r.fuel = r.fuelGauge.tally.SettleBalance(int64(in.balance.Get()))
	}
	r.peak = max(r.peak, in.mem.peak)
	r.memoryLimitReached = r.memoryLimitReached || in.mem.limitReached
	in.stdout.flush()
	in.stderr.flush()
}

// addFuel adds the fuel that a subtask has used. A balance of -fuel after a grant of 0 counts
// as that much.
func (r *run) addFuel(fuel int64) {
	r.fuelGauge.tally.GrantSlice(0)
	r.fuel = r.fuelGauge.tally.SettleBalance(-fuel)
	r.fuelGauge.tally.GrantSlice(0)
}

// detach ends the run's use of its instance, which becomes idle in the job's pool or
// is destroyed.
func (r *run) detach() {
	in := r.in
	if in == nil {
		return
	}
	r.collectUsage()
	r.in = nil
	in.reusable = in.reusable && !r.overdue() && r.ctx.Err() == nil // else its guest may have been ended anywhere
	in.run = nil
	in.returnStack()
	if !in.compiled.keepIdle(r, in) {
		in.destroy()
	}
}

// destroy frees the instance. It does not use the run's context, which may have
// ended.
func (in *instance) destroy() {
	if in.mod != nil {
		_ = in.mod.Close(context.WithoutCancel(in.compiled.engine.ctx)) // its error is about files, which closeDirs closes
	}
	in.closeDirs()
	cost := in.memoryCost()
	in.mem.release()
	in.compiled.engine.budget.returnMemory(cost)
}

// returnStack returns the call stack: an idle instance needs none.
func (in *instance) returnStack() {
	in.compiled.engine.stacks.returnStack(in.callStack)
	had := in.stackBytes
	in.callStack, in.stackBytes = nil, 0
	in.compiled.engine.budget.returnMemory(had)
}

// memoryCost returns what the instance holds of the budget.
func (in *instance) memoryCost() uint64 {
	return in.compiled.fixedBytes + in.mem.claimed + in.stackBytes + in.listedBytes
}

// claimListed is claimMemory for directory entries that the engine holds.
func (in *instance) claimListed(more uint64) bool {
	if !in.claimMemory(more) {
		return false
	}
	in.listedBytes += more
	return true
}

// claimMemory takes more bytes from the host's budget for the guest, for which it may
// wait. If it gets none, the run has the reason, and the guest's memory does not grow.
func (in *instance) claimMemory(more uint64) bool {
	if err := in.compiled.engine.budget.takeMemory(in.run, more); err != nil {
		in.run.memoryErr = err
		return false
	}
	return true
}
