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

// Module is a checked and compiled module. It is safe for concurrent use. The caller
// that loaded it must close it.
type Module struct {
	compiled *compilation
	once     sync.Once
}

// Digest returns the SHA-256 of the loaded bytes, in hex.
func (m *Module) Digest() string { return m.compiled.digest }

// Kinds returns the kinds of job that the module can be, as in a Report.
func (m *Module) Kinds() []string { return m.compiled.kinds }

// Exports reports whether the module has an exported function of the ABI.
func (m *Module) Exports(name string) bool { return m.compiled.exports(name) }

// Close gives up the module. Its code is freed with its last user, which may be a
// run in progress.
func (m *Module) Close() { m.once.Do(m.compiled.removeUser) }

// compilation is shared by all Modules with the same digest.
type compilation struct {
	engine        *Engine
	digest        string
	ready         chan struct{}         // closed when the fields below are final
	code          wazero.CompiledModule // written under engine.mu as well
	initialMemory uint64                // initial bytes of the memory
	maxMemory     uint64                // maximum bytes of the memory
	startExports  []string              // exports to call before the first entry
	abiExports    map[string]bool       // exported functions of the ABI
	fixedBytes    uint64                // bytes of an instance besides its memory
	kinds         []string              // kinds of job that the module can be
	opensFiles    bool                  // it has code that opens files
	err           error

	wanted       context.Context //nolint:containedctx // ends when no caller waits for the compilation
	cancelWanted context.CancelFunc

	users int                    // guarded by engine.mu
	pools map[string][]*instance // idle instances by job; guarded by engine.mu
}

// Source provides the bytes of a module.
type Source struct {
	Digest string                 // SHA-256 of the bytes, in hex
	Size   int64                  // number of bytes
	Read   func() ([]byte, error) // may be called twice
}

// Load is LoadFrom for bytes in memory.
func (e *Engine) Load(ctx context.Context, binary []byte) (*Module, error) {
	return e.LoadFrom(ctx, Source{digestOf(binary), int64(len(binary)), func() ([]byte, error) { return binary, nil }})
}

// LoadFrom checks and compiles a module. Callers that load the same module share one
// compilation, also later ones. A faulty module is reported as a *Refusal. ctx ends
// the waiting. A running compilation continues, because the engine cannot interrupt
// it; the check limits its time. A compilation that is still in the queue is
// cancelled when no caller waits for it.
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
		before := e.compiling[from.Digest] // of callers that gave up: its files may still exist
		e.compiling[from.Digest] = c.ready
		e.runs.Go(func() { // under mu, so that Close waits for it
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
	return &Module{compiled: c}, nil
}

// compile creates everything that the users of a module share. It records the result, also
// a refusal, and closes c.ready.
func (c *compilation) compile(from Source) {
	e := c.engine
	// Reading a module creates several copies for a moment. How much memory its compilation
	// takes is known only after that. If it is too much for the small lane, the module waits
	// again, in the large one.
	lane := e.queue.laneOf(copiesOnRead * uint64(from.Size))
	code, err := c.compileInTurn(lane, from)
	if errors.Is(err, errLarge) {
		code, err = c.compileInTurn(largeLane, from)
	}
	c.err = err
	e.mu.Lock()
	// Refusals are final, and a job may load its module every second. Only CompileDied is not
	// final: an operator can lift it (RetryModule).
	if r, ok := errors.AsType[*Refusal](err); ok && r.Reason != CompileDied && len(e.refusals) < maxRefusals {
		e.refusals[from.Digest] = r
	}
	c.code = code
	left := c.users == 0                     // no caller is left, and removeUser has found no code to free
	if e.compiling[from.Digest] == c.ready { // no later compilation waits for this one
		delete(e.compiling, from.Digest)
	}
	e.mu.Unlock()
	close(c.ready)
	if left && code != nil {
		e.free(code)
	}
}

// maxRefusals is the maximum number of refusals that are remembered.
const maxRefusals = 10_000

// copiesOnRead is how many times the size of a module decoding and metering take.
const copiesOnRead = 5

// errLarge reports that compiling a module takes too much memory for the small lane.
var errLarge = errors.New("the module is not small to compile")

// compileInTurn waits for its turn in a lane of the queue, and then reads, checks and
// compiles the module. It returns errLarge if the module turns out to be too large for the
// small lane.
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
	metered, cost, err := c.checkAndMeter(binary, e.queue.memoryOf(lane))
	switch {
	case errors.Is(err, meter.ErrMemory) && lane == smallLane:
		return nil, errLarge
	case errors.Is(err, meter.ErrMemory):
		return nil, e.queue.meteringRefusal()
	case err != nil:
		return nil, err
	case e.compiledBefore(metered):
		return e.compile(metered) // only loads the code from the engine's cache
	}
	if err := e.queue.checkMemory(cost); err != nil {
		return nil, err
	}
	if lane == smallLane && e.queue.laneOf(cost) == largeLane {
		return nil, errLarge
	}
	return e.compileTracked(c.wanted, c.digest, binary, metered, cost)
}

// checkAndMeter checks and meters the module, with that many bytes of memory. cost is the
// memory that compiling takes.
func (c *compilation) checkAndMeter(binary []byte, memory uint64) (metered []byte, cost uint64, err error) {
	e := c.engine
	module, err := decode(binary, e.maxModule)
	if err != nil {
		return nil, 0, err
	}
	decoded := &decodedModule{Module: module}
	if err := decoded.checkABI(e.hostFunctions); err != nil {
		return nil, 0, err
	}
	if err := decoded.checkBounds(memory); err != nil {
		return nil, 0, err
	}
	c.initialMemory = uint64(decoded.Memory.Min) * pageSize
	c.maxMemory = uint64(min(decoded.Memory.Max, wasm.MaxPages)) * pageSize
	c.abiExports = decoded.abiExports()
	c.fixedBytes = instanceCost + decoded.instanceBytes()
	c.kinds, c.opensFiles = decoded.kinds(), decoded.opensFiles()
	c.startExports = nil // may be set: a large module is checked twice
	if decoded.metered.Start {
		c.startExports = append(c.startExports, meter.ExportStart)
	}
	if decoded.exports(abi.ExportInitialize) {
		c.startExports = append(c.startExports, abi.ExportInitialize)
	}
	return decoded.metered.Wasm, decoded.cost.totalMemory(decoded.Size), nil
}

// compile compiles a metered module. The engine's cache is keyed by the bytes, which
// include the meter's version. A damaged cache file would make the compilation fail
// each time, so compile empties the cache and tries again. If the cache cannot be
// written, compilation fails too, but the code stays in memory, where the second
// attempt finds it.
func (e *Engine) compile(binary []byte) (wazero.CompiledModule, error) {
	code, err := e.tryCompile(binary)
	if err != nil && strings.Contains(err.Error(), "compilationcache") { // the engine's word for a damaged file
		if rmErr := emptyCache(e.dir); rmErr != nil {
			return nil, errors.Join(fmt.Errorf("compile module: %w", err), rmErr)
		}
		code, err = e.tryCompile(binary)
	}
	var disk *fs.PathError // the cache cannot be written
	if errors.As(err, &disk) {
		e.log.Warn("cannot keep a compiled module for the next start", slog.Any("err", err))
		code, err = e.tryCompile(binary)
	}
	if err == nil && e.dir != "" {
		if err := errors.Join(sealNewFiles(e.dir), e.markCompiled(binary)); err != nil {
			e.log.Warn("cannot keep a compiled module for the next start", slog.Any("err", err))
		}
	}
	switch {
	case err == nil:
		if err := checkCompiled(code); err != nil {
			e.free(code)
			return nil, err
		}
		return code, nil
	case errors.As(err, &disk), // the cache is not readable
		errors.Is(err, syscall.ENOMEM): // says nothing about the module
		return nil, fmt.Errorf("compile module: %w", err)
	}
	return nil, &Refusal{
		Reason:  Damaged,
		Problem: "the module is not valid: " + readable(err.Error(), 512),
		Hint:    "build it again; if the result is the same, its compiler is at fault",
	}
}

// tryCompile also recovers from panics of the compiler: a module must not end the
// host.
func (e *Engine) tryCompile(binary []byte) (code wazero.CompiledModule, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error: // for example no memory for the code
			code, err = nil, fmt.Errorf("the compiler failed: %w", r)
		default:
			code, err = nil, fmt.Errorf("the compiler failed: %v", r)
		}
	}()
	return e.rt.CompileModule(e.ctx, binary) //nolint:wrapcheck // compile adds the context
}

// addUser adds a user of the code, who must call removeUser. It returns false if the
// module was closed before.
func (c *compilation) addUser() bool {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.users == 0 {
		return false
	}
	c.users++
	return true
}

// removeUser ends the use of the code. The last user frees it, together with the idle
// instances; if it is not compiled yet, compile frees it.
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

// free frees the machine code of a module.
func (e *Engine) free(code wazero.CompiledModule) {
	// Close only removes the code from the runtime's table.
	_ = code.Close(context.WithoutCancel(e.ctx))
}
