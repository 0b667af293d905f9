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

	left      api.MutableGlobal // balance of fuel
	entries   map[string]*entry
	calls     []byte // the stack of the engine, while a run is in progress
	depth     uint64 // what is set aside for the run
	closeDirs func()
	stack     [1]uint64 // for the result of an entry

	allow job.Allow // what it was made with
	files int       // that it may have open
	uses  int       // runs that it served
	sound bool      // may serve another: nothing went wrong in it
}

// follow is the context of whatever run is in progress.
func (in *instance) follow() context.Context { return following{in} }

// following has no state of its own, as it outlives each run.
type following struct{ in *instance }

func (f following) now() context.Context {
	if f.in.r == nil { // nobody asks between two runs
		return f.in.c.engine.life
	}
	return f.in.r.ctx
}

// Deadline is part of context.Context, as are the others.
func (f following) Deadline() (time.Time, bool) { return f.now().Deadline() }
func (f following) Done() <-chan struct{}       { return f.now().Done() }
func (f following) Err() error                  { return f.now().Err() }
func (f following) Value(key any) any           { return f.now().Value(key) }

// dice is the guest's source of random numbers.
type dice struct{ in *instance }

// Read implements io.Reader.
func (d dice) Read(p []byte) (int, error) {
	if d.in.random == nil {
		d.in.random = d.in.r.randomness()
	}
	// One call may ask for all of the memory to be filled.
	if err := d.in.follow().Err(); err != nil {
		return 0, err
	}
	return d.in.random.Read(p[:min(len(p), maxDice)])
}

// attach gives the run an instance: a warm one if there is one that will do,
// else a fresh one, for which it may have to wait until there is memory.
func (r *run) attach(fresh bool) error {
	if !fresh {
		if in := r.c.warm(r); in != nil {
			return r.begun(in, in.serve(r))
		}
	}
	in, err := r.fresh()
	if err != nil {
		return err
	}
	if err := r.c.engine.budget.take(r, in.cost()); err != nil {
		return err
	}
	return r.begun(in, in.start(r))
}

// fresh is an instance that has nothing yet, unless the job's limit is below what
// it begins with.
func (r *run) fresh() (*instance, error) {
	limit := r.memoryLimit()
	if r.c.memory > limit {
		return nil, fmt.Errorf("the module needs %d bytes of memory to begin with, the limit is %d; raise limits.memory", r.c.memory, limit)
	}
	in := &instance{c: r.c, allow: r.facts.call.Config.Allow, files: r.openFiles(), depth: r.overhead(), closeDirs: func() {}}
	in.mem.limit, in.mem.claimed, in.mem.more = limit, r.c.memory, in.grow
	return in, nil
}

// begun ends an instance that could not begin.
func (r *run) begun(in *instance, err error) error {
	if err != nil {
		in.sound = false
		r.detach()
	}
	return err
}

// start makes the copy and has it start itself.
func (in *instance) start(r *run) error {
	if err := in.serve(r); err != nil {
		return err
	}
	dirs, closeDirs, err := grantedDirs(in.follow(), in.allow.Dirs, in.c.engine, in.files)
	if err != nil {
		return err
	}
	in.closeDirs = closeDirs
	if err := in.mem.open(in.c.most); err != nil {
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
	in.left = left
	for _, name := range in.c.begin {
		if r.script && name == abi.ExportInitialize {
			continue // a command starts itself
		}
		if _, err := r.enter(name, abi.InInit); err != nil {
			return err
		}
	}
	return nil
}

// config says what of the world the instance gets; see the table in ABI.md.
func (in *instance) config(dirs wazero.FSConfig) wazero.ModuleConfig {
	in.stdout = lineWriter{ctx: in.follow(), level: slog.LevelInfo, j: in.r.journal}
	in.stderr = lineWriter{ctx: in.follow(), level: slog.LevelWarn, j: in.r.journal, tail: &in.r.stderr}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStderr(&in.stderr).WithFSConfig(dirs).WithRandSource(dice{in})
	config = withClock(config, in, in.r.facts.call)
	for _, k := range slices.Sorted(maps.Keys(in.allow.Env)) {
		config = config.WithEnv(k, in.allow.Env[k])
	}
	if in.r.script {
		return withScript(config, in.r)
	}
	return config.WithStdout(&in.stdout)
}

// serve begins a run in the instance.
func (in *instance) serve(r *run) (err error) {
	in.uses++
	in.sound = true
	in.clock = fixedClock{start: r.facts.epoch()}
	in.random = nil
	in.mem.full = false
	in.bind(r)
	if in.calls, err = in.c.engine.stacks.take(); err != nil {
		return fmt.Errorf("there is no memory for the stack: %w", err)
	}
	return nil
}

// lend has another part of the same run go on in the instance.
func (in *instance) lend(from, to *run) {
	from.settle()
	from.in = nil
	in.bind(to)
}

func (in *instance) bind(r *run) {
	in.r, r.in = r, in
	in.stdout.j, in.stderr.j, in.stderr.tail = r.journal, r.journal, &r.stderr
	// The account of fuel is the run's, the balance the instance's.
	r.gauge.tally.GrantSlice(0)
	if in.left != nil {
		in.left.Set(0)
	}
}

// enter calls one export in a phase and gives what it returned, if it returns
// something. An error ends the instance: after a trap the engine would let it
// go on in whatever state it is.
func (r *run) enter(name string, phase abi.Phase) (code int32, err error) {
	in := r.in
	// The engine catches what happens in the guest; what happens on the way there
	// would end the host, on a goroutine that nobody else looks after.
	defer func() {
		if p := recover(); p != nil {
			in.sound = false
			code, err = 0, fmt.Errorf("%s: the host failed: %v", name, p)
		}
	}()
	r.phase = phase
	in.stack[0] = 0
	e := in.entry(name)
	e.use(in.calls)
	err = e.CallWithStack(r.ctx, in.stack[:])
	r.drop(r.outside.endCall())
	// After an exit the engine may return as if nothing had happened.
	if err == nil && in.mod.IsClosed() {
		err = errClosed
	}
	if err == nil && r.gauge.overdrawn(int64(in.left.Get())) {
		err = errFuel
	}
	if err != nil {
		in.sound = false
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return api.DecodeI32(in.stack[0]), nil
}

// entry looks an export up once, as the engine makes a stack each time.
func (in *instance) entry(name string) *entry {
	e := in.entries[name]
	if e == nil {
		e = entryOf(in.mod.ExportedFunction(name))
		if in.entries == nil {
			in.entries = map[string]*entry{}
		}
		in.entries[name] = e
	}
	return e
}

// settle takes what the instance did into the run's account.
func (r *run) settle() {
	in := r.in
	if in.left != nil {
		r.fuel = r.gauge.tally.SettleBalance(int64(in.left.Get()))
	}
	r.peak = max(r.peak, in.mem.peak)
	r.full = r.full || in.mem.full
	in.stdout.flush()
	in.stderr.flush()
}

// spend adds what parts of the run used in its place.
func (r *run) spend(fuel int64) {
	r.gauge.tally.GrantSlice(0)
	r.fuel = r.gauge.tally.SettleBalance(-fuel)
	r.gauge.tally.GrantSlice(0)
}

// detach ends the run's use of its instance, which then rests in the pool of
// the job or is no more.
func (r *run) detach() {
	in := r.in
	if in == nil {
		return
	}
	r.settle()
	r.in = nil
	in.sound = in.sound && !r.overdue() && r.ctx.Err() == nil
	in.r = nil
	in.endStack()
	if !in.c.rest(r, in) {
		in.end()
	}
}

// end destroys the instance. The run's context may be over, and closing must
// not depend on that.
func (in *instance) end() {
	if in.mod != nil {
		_ = in.mod.Close(context.WithoutCancel(in.c.engine.life)) // files of the guest, which closeDirs closes
	}
	in.closeDirs()
	cost := in.cost()
	in.mem.release()
	in.c.engine.budget.give(cost)
}

// endStack gives the stack back: an instance at rest needs none.
func (in *instance) endStack() {
	in.c.engine.stacks.give(in.calls)
	had := in.depth
	in.calls, in.depth = nil, 0
	in.c.engine.budget.give(had)
}

// cost is what the instance has of the budget.
func (in *instance) cost() uint64 { return in.c.fixed + in.mem.claimed + in.depth }

// grow asks for more memory on behalf of the guest.
func (in *instance) grow(more uint64) bool {
	if err := in.c.engine.budget.take(in.r, more); err != nil {
		in.r.starved = err
		return false
	}
	return true
}
