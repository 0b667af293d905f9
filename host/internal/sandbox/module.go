package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"syscall"

	"github.com/tetratelabs/wazero"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

// Module is a checked and compiled module. It may be run from any number of
// goroutines at once. Whoever loaded it closes it once.
type Module struct {
	c    *compilation
	once sync.Once
}

// Digest is the sha256 of the bytes that were loaded, in hex.
func (m *Module) Digest() string { return m.c.digest }

// Report says what the module consists of.
func (m *Module) Report() Report { return m.c.report }

// Close gives the module up; its code is freed with the last user, a run in
// progress included.
func (m *Module) Close() { m.once.Do(m.c.removeUser) }

// compilation is shared by all Modules of one digest.
type compilation struct {
	engine        *Engine
	digest        string
	ready         chan struct{}         // closed when what follows is final
	code          wazero.CompiledModule // written under engine.mu, too
	initialMemory uint64                // bytes that the memory begins with
	maxMemory     uint64                // bytes that it may grow to
	startExports  []string              // exports to call before the first
	abiExports    map[string]bool       // functions of the ABI that it exports
	fixedBytes    uint64                // bytes that an instance takes beside its memory
	report        Report
	err           error

	wanted       context.Context //nolint:containedctx // ends when nobody waits for the compilation any more
	cancelWanted context.CancelFunc

	users int                    // guarded by engine.mu
	pools map[string][]*instance // per job, what rests; guarded by engine.mu
}

// Source is where the bytes of a module are.
type Source struct {
	Digest string                 // sha256 of the bytes, in hex
	Size   int64                  // how many there are
	Read   func() ([]byte, error) // called when they are needed, perhaps twice
}

// Load is LoadFrom for a module that is in memory.
func (e *Engine) Load(ctx context.Context, binary []byte) (*Module, error) {
	return e.LoadFrom(ctx, Source{digestOf(binary), int64(len(binary)), func() ([]byte, error) { return binary, nil }})
}

// LoadFrom checks and compiles a module, or finds it compiled. The same bytes are
// compiled once however many ask, also at the same time. What a module does
// wrong is told as a *Refusal. ctx ends the waiting. A compilation that has
// begun goes on, as the engine underneath cannot be interrupted, which is why
// the check bounds it; one that waits for its turn is given up with the last who
// wants it.
func (e *Engine) LoadFrom(ctx context.Context, from Source) (*Module, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	if r := e.refusals[from.Digest]; r != nil {
		e.mu.Unlock()
		return nil, r
	}
	c, known := e.modules[from.Digest]
	if !known {
		c = &compilation{engine: e, digest: from.Digest, ready: make(chan struct{})}
		c.wanted, c.cancelWanted = context.WithCancel(e.ctx)
		e.modules[from.Digest] = c
		before := e.compiling[from.Digest] // nobody wants it, but it has notes on disk
		e.compiling[from.Digest] = c.ready
		e.runs.Go(func() { // under mu, so that Close cannot have passed its Wait
			if before != nil {
				<-before
			}
			c.compile(from)
		})
	}
	c.users++
	e.mu.Unlock()

	select {
	case <-c.ready:
	case <-ctx.Done():
		c.removeUser()
		return nil, fmt.Errorf("wait for the compilation of module %s: %w", from.Digest, ctx.Err())
	}
	if c.err != nil {
		c.removeUser()
		return nil, c.err
	}
	return &Module{c: c}, nil
}

// compile makes everything of the module that its users share.
func (c *compilation) compile(from Source) {
	e := c.engine
	// Whoever reads a module has several copies of it for a moment.
	lane := e.queue.laneOf(copiesOnRead * uint64(from.Size))
	code, err := c.compileInTurn(lane, from)
	if errors.Is(err, errLarge) {
		code, err = c.compileInTurn(largeLane, from)
	}
	c.err = err
	e.mu.Lock()
	// What is wrong with the bytes stays wrong, and a job may ask each second.
	if r, ok := errors.AsType[*Refusal](err); ok && r.Reason != CompileDied && len(e.refusals) < maxRefusals {
		e.refusals[from.Digest] = r
	}
	c.code = code
	left := c.users == 0 // nobody wants it any more
	if e.compiling[from.Digest] == c.ready {
		delete(e.compiling, from.Digest)
	}
	e.mu.Unlock()
	close(c.ready)
	if left && code != nil {
		e.free(code)
	}
}

// maxRefusals bounds how many refused modules are remembered.
const maxRefusals = 10_000

// copiesOnRead is how many times the size of a module decoding and metering take.
const copiesOnRead = 5

// errLarge is that a module of few bytes takes too much memory to be compiled
// among the small ones.
var errLarge = errors.New("the module is not small to compile")

// compileInTurn waits for its turn, and then reads, checks and compiles the module.
func (c *compilation) compileInTurn(lane lane, from Source) (wazero.CompiledModule, error) {
	e := c.engine
	leave, err := e.queue.enter(c.wanted, lane)
	if err != nil {
		return nil, fmt.Errorf("wait to compile module %s: %w", c.digest, err)
	}
	defer leave()
	binary, err := from.Read()
	if err != nil {
		return nil, err
	}
	out, cost, err := c.checkAndMeter(binary)
	switch {
	case err != nil:
		return nil, err
	case e.compiledBefore(out):
		return e.compile(out)
	}
	if err := e.queue.checkMemory(cost); err != nil {
		return nil, err
	}
	if lane == smallLane && e.queue.laneOf(cost) == largeLane {
		return nil, errLarge
	}
	return e.compileTracked(c.wanted, c.digest, binary, out, cost)
}

// checkAndMeter checks the module and meters it. cost is the memory that compiling it
// takes.
func (c *compilation) checkAndMeter(binary []byte) (out []byte, cost uint64, err error) {
	e := c.engine
	m, err := decode(binary, e.maxModule)
	if err != nil {
		return nil, 0, err
	}
	a := &decodedModule{Module: m}
	if err := a.checkABI(e.hostFunctions); err != nil {
		return nil, 0, err
	}
	if err := a.checkBounds(); err != nil {
		return nil, 0, err
	}
	c.initialMemory = uint64(a.Memory.Min) * pageSize
	c.maxMemory = uint64(min(a.Memory.Max, wasm.MaxPages)) * pageSize
	c.abiExports = a.abiExports()
	c.fixedBytes = instanceCost + a.instanceBytes()
	c.report = a.report(c.digest)
	c.startExports = nil // a large module is admitted twice
	if a.metered.Start {
		c.startExports = append(c.startExports, meter.ExportStart)
	}
	if a.exports(abi.ExportInitialize) {
		c.startExports = append(c.startExports, abi.ExportInitialize)
	}
	return a.metered.Wasm, a.cost.totalMemory(a.Size), nil
}

// compile hands a checked and metered binary to the runtime, whose cache goes
// by the bytes and so by the version of the meter, too. A damaged file in the cache
// fails the compilation of a sound module for ever, so the cache is emptied
// and asked once more. A cache that cannot be written fails it too, but leaves
// the code in memory, where the second time finds it.
func (e *Engine) compile(binary []byte) (wazero.CompiledModule, error) {
	code, err := e.tryCompile(binary)
	if err != nil && strings.Contains(err.Error(), "compilationcache") {
		if rmErr := emptyCache(e.dir); rmErr != nil {
			return nil, errors.Join(fmt.Errorf("compile module: %w", err), rmErr)
		}
		code, err = e.tryCompile(binary)
	}
	var disk *fs.PathError
	if errors.As(err, &disk) {
		e.log.Warn("compiled module is not kept for the next start", slog.Any("err", err))
		code, err = e.tryCompile(binary)
	}
	if err == nil && e.dir != "" {
		if err := errors.Join(sealNewFiles(e.dir), e.markCompiled(binary)); err != nil {
			e.log.Warn("compiled module is not kept for the next start", slog.Any("err", err))
		}
	}
	switch {
	case err == nil:
		if err := checkCompiled(code); err != nil {
			e.free(code)
			return nil, err
		}
		return code, nil
	case errors.As(err, &disk), // the cache cannot be read
		errors.Is(err, syscall.ENOMEM): // which says nothing of the module
		return nil, fmt.Errorf("compile module: %w", err)
	}
	return nil, &Refusal{
		Reason:  Damaged,
		Problem: "the module is not valid: " + readable(err.Error(), 512),
		Hint:    "build it anew; if that gives the same bytes, the fault is its compiler's",
	}
}

// tryCompile also catches what the compiler does when it meets a case that
// its authors thought impossible: a module must not end the host.
func (e *Engine) tryCompile(binary []byte) (code wazero.CompiledModule, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error: // there may be no memory for the code
			code, err = nil, fmt.Errorf("the compiler failed: %w", r)
		default:
			code, err = nil, fmt.Errorf("the compiler failed: %v", r)
		}
	}()
	return e.rt.CompileModule(e.ctx, binary) //nolint:wrapcheck // compile says what it was for
}

// addUser keeps the code for one more user; release must follow unless it
// answers false, as the module was closed before.
func (c *compilation) addUser() bool {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.users == 0 {
		return false
	}
	c.users++
	return true
}

// removeUser frees the code with the last user.
func (c *compilation) removeUser() {
	e := c.engine
	e.mu.Lock()
	c.users--
	last := c.users == 0
	var idle []*instance
	if last {
		idle = c.takeAllIdle()
		c.cancelWanted()
	}
	code := c.code
	if last && e.modules[c.digest] == c {
		delete(e.modules, c.digest)
	}
	e.mu.Unlock()
	for _, in := range idle {
		in.destroy()
	}
	if last && code != nil {
		e.free(code)
	}
}

// free gives up compiled code.
func (e *Engine) free(code wazero.CompiledModule) {
	// It only takes the code out of the runtime's table.
	_ = code.Close(context.WithoutCancel(e.ctx))
}
