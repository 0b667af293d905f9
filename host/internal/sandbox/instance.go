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

// errClosed is what is left of an instance that ended itself.
var errClosed = errors.New("the instance was closed")

// instance is one live copy of a module. It serves one run at a time, on one
// goroutine; between two runs it may rest in a pool. So what the engine was
// given at its start, a clock for example, must not belong to a run: it asks
// the instance for the run in progress.
type instance struct {
	c   *compilation
	mod api.Module
	mem linearMemory
	r   *run // in progress; nil at rest

	clock  fixedClock
	random io.Reader // made when first asked for
	stdout lineWriter
	stderr lineWriter

	balance    api.MutableGlobal // balance of fuel
	entries    map[string]*exportedFunc
	callStack  []byte // the stack of the engine, while a run is in progress
	stackBytes uint64 // what is set aside for the run
	closeDirs  func()
	results    [1]uint64 // for the result of an entry

	allow    job.Allow // what it was made with
	files    int       // that it may have open
	uses     int       // runs that it served
	reusable bool      // may serve another: nothing went wrong in it
}

// context is the context of whatever run is in progress.
func (in *instance) context() context.Context { return instanceContext{in} }

// instanceContext has no state of its own, as it outlives each run.
type instanceContext struct{ in *instance }

func (f instanceContext) current() context.Context {
	if f.in.r == nil { // nobody asks between two runs
		return f.in.c.engine.ctx
	}
	return f.in.r.ctx
}

// Deadline is part of context.Context, as are the others.
func (f instanceContext) Deadline() (time.Time, bool) { return f.current().Deadline() }
func (f instanceContext) Done() <-chan struct{}       { return f.current().Done() }
func (f instanceContext) Err() error                  { return f.current().Err() }
func (f instanceContext) Value(key any) any           { return f.current().Value(key) }

// randomSource is the guest's source of random numbers.
type randomSource struct{ in *instance }

// Read implements io.Reader.
func (d randomSource) Read(p []byte) (int, error) {
	if d.in.random == nil {
		d.in.random = d.in.r.randomReader()
	}
	// One call may ask for all of the memory to be filled.
	if err := d.in.context().Err(); err != nil {
		return 0, err
	}
	return d.in.random.Read(p[:min(len(p), maxRandomRead)])
}

// attach gives the run an instance: a warm one if there is one that will do,
// else a fresh one, for which it may have to wait until there is memory.
func (r *run) attach(fresh bool) error {
	if !fresh {
		if in := r.c.takeIdle(r); in != nil {
			return r.detachOnError(in, in.beginRun(r))
		}
	}
	in, err := r.newInstance()
	if err != nil {
		return err
	}
	if err := r.c.engine.budget.takeMemory(r, in.memoryCost()); err != nil {
		return err
	}
	return r.detachOnError(in, in.instantiate(r))
}

// newInstance is an instance that has nothing yet, unless the job's limit is below what
// it begins with.
func (r *run) newInstance() (*instance, error) {
	limit := r.memoryLimit()
	if r.c.initialMemory > limit {
		return nil, fmt.Errorf("the module needs %d bytes of memory to begin with, the limit is %d; raise limits.memory", r.c.initialMemory, limit)
	}
	in := &instance{c: r.c, allow: r.facts.call.Config.Allow, files: r.openFiles(), stackBytes: r.overheadBytes(), closeDirs: func() {}}
	in.mem.limit, in.mem.claimed, in.mem.claimMore = limit, r.c.initialMemory, in.claimMemory
	return in, nil
}

// detachOnError ends an instance that could not begin.
func (r *run) detachOnError(in *instance, err error) error {
	if err != nil {
		in.reusable = false
		r.detach()
	}
	return err
}

// instantiate makes the copy and has it start itself.
func (in *instance) instantiate(r *run) error {
	if err := in.beginRun(r); err != nil {
		return err
	}
	dirs, closeDirs, err := openGrantedDirs(in.context(), in.allow.Dirs, in.c.engine, in.files)
	if err != nil {
		return err
	}
	in.closeDirs = closeDirs
	if err := in.mem.open(in.c.maxMemory); err != nil {
		return fmt.Errorf("there is no memory for the module: %w", err)
	}
	ctx := experimental.WithMemoryAllocator(r.ctx, &in.mem)
	in.mod, err = in.c.engine.rt.InstantiateModule(ctx, in.c.code, in.config(dirs))
	if err != nil {
		return fmt.Errorf("start the module: %w", err)
	}
	left, ok := in.mod.ExportedGlobal(meter.ExportLeft).(api.MutableGlobal)
	if !ok { // never for what the meter made
		return errors.New("start the module: it is not metered")
	}
	in.balance = left
	for _, name := range in.c.startExports {
		if r.script && name == abi.ExportInitialize {
			continue // a command starts itself
		}
		if _, err := r.callExport(name, abi.InInit); err != nil {
			return err
		}
	}
	return nil
}

// config says what of the world the instance gets; see the table in ABI.md.
func (in *instance) config(dirs wazero.FSConfig) wazero.ModuleConfig {
	in.stdout = lineWriter{ctx: in.context(), level: slog.LevelInfo, j: in.r.log}
	in.stderr = lineWriter{ctx: in.context(), level: slog.LevelWarn, j: in.r.log, last: &in.r.stderr}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStderr(&in.stderr).WithFSConfig(dirs).WithRandSource(randomSource{in})
	config = withClock(config, in, in.r.facts.call)
	for _, k := range slices.Sorted(maps.Keys(in.allow.Env)) {
		config = config.WithEnv(k, in.allow.Env[k])
	}
	if in.r.script {
		return withScript(config, in.r)
	}
	return config.WithStdout(&in.stdout)
}

// beginRun begins a run in the instance.
func (in *instance) beginRun(r *run) (err error) {
	in.uses++
	in.reusable = true
	in.clock = fixedClock{start: r.facts.clockStart()}
	in.random = nil
	in.mem.limitReached = false
	in.bind(r)
	if in.callStack, err = in.c.engine.stacks.takeStack(); err != nil {
		return fmt.Errorf("there is no memory for the stack: %w", err)
	}
	return nil
}

// handOver has another part of the same run go on in the instance.
func (in *instance) handOver(from, to *run) {
	from.collectUsage()
	from.in = nil
	in.bind(to)
}

func (in *instance) bind(r *run) {
	in.r, r.in = r, in
	in.stdout.j, in.stderr.j, in.stderr.last = r.log, r.log, &r.stderr
	// The account of fuel is the run's, the balance the instance's.
	r.fuelGauge.tally.GrantSlice(0)
	if in.balance != nil {
		in.balance.Set(0)
	}
}

// callExport calls one export in a phase and gives what it returned, if it returns
// something. An error ends the instance: after a trap the engine would let it
// go on in whatever state it is.
func (r *run) callExport(name string, phase abi.Phase) (code int32, err error) {
	in := r.in
	// The engine catches what happens in the guest; what happens on the way there
	// would end the host, on a goroutine that nobody else looks after.
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
	r.dropMemory(r.state.endCall())
	// After an exit the engine may return as if nothing had happened.
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

// entry looks an export up once, as the engine makes a stack each time.
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

// collectUsage takes what the instance did into the run's account.
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

// addFuel adds what parts of the run used in its place.
func (r *run) addFuel(fuel int64) {
	r.fuelGauge.tally.GrantSlice(0)
	r.fuel = r.fuelGauge.tally.SettleBalance(-fuel)
	r.fuelGauge.tally.GrantSlice(0)
}

// detach ends the run's use of its instance, which then rests in the pool of
// the job or is no more.
func (r *run) detach() {
	in := r.in
	if in == nil {
		return
	}
	r.collectUsage()
	r.in = nil
	in.reusable = in.reusable && !r.overdue() && r.ctx.Err() == nil
	in.r = nil
	in.returnStack()
	if !in.c.keepIdle(r, in) {
		in.destroy()
	}
}

// destroy destroys the instance. The run's context may be over, and closing must
// not depend on that.
func (in *instance) destroy() {
	if in.mod != nil {
		_ = in.mod.Close(context.WithoutCancel(in.c.engine.ctx)) // files of the guest, which closeDirs closes
	}
	in.closeDirs()
	cost := in.memoryCost()
	in.mem.release()
	in.c.engine.budget.returnMemory(cost)
}

// returnStack gives the stack back: an instance at rest needs none.
func (in *instance) returnStack() {
	in.c.engine.stacks.returnStack(in.callStack)
	had := in.stackBytes
	in.callStack, in.stackBytes = nil, 0
	in.c.engine.budget.returnMemory(had)
}

// memoryCost is what the instance has of the budget.
func (in *instance) memoryCost() uint64 { return in.c.fixedBytes + in.mem.claimed + in.stackBytes }

// claimMemory asks for more memory on behalf of the guest.
func (in *instance) claimMemory(more uint64) bool {
	if err := in.c.engine.budget.takeMemory(in.r, more); err != nil {
		in.r.memoryErr = err
		return false
	}
	return true
}
