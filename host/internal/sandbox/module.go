package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"

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
func (m *Module) Close() { m.once.Do(m.c.release) }

// compilation is shared by all Modules of one digest.
type compilation struct {
	engine  *Engine
	digest  string
	ready   chan struct{} // closed when what follows is final
	code    wazero.CompiledModule
	memory  uint64          // bytes that the memory begins with
	most    uint64          // bytes that it may grow to
	begin   []string        // exports to call before the first
	entries map[string]bool // functions of the ABI that it exports
	fixed   uint64          // bytes that an instance takes beside its memory
	report  Report
	err     error

	users int                    // guarded by engine.mu
	pools map[string][]*instance // per job, what rests; guarded by engine.mu
}

// Load checks and compiles a module, or finds it compiled. The same bytes are
// compiled once however many ask, also at the same time. What a module does
// wrong is told as a *Refusal. ctx ends the waiting, not the compilation: the
// engine underneath cannot be interrupted, which is why the check bounds it.
func (e *Engine) Load(ctx context.Context, binary []byte) (*Module, error) {
	digest := digestOf(binary)
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	c, known := e.modules[digest]
	if !known {
		c = &compilation{engine: e, digest: digest, ready: make(chan struct{})}
		e.modules[digest] = c
	}
	c.users++
	if !known {
		e.runs.Add(1) // under mu, so that Close cannot have passed its Wait
	}
	e.mu.Unlock()

	if !known {
		c.compile(binary)
		e.runs.Done()
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		c.release()
		return nil, fmt.Errorf("wait for the compilation of module %s: %w", digest, ctx.Err())
	}
	if c.err != nil {
		c.release()
		return nil, c.err
	}
	return &Module{c: c}, nil
}

func (c *compilation) compile(binary []byte) {
	defer close(c.ready)
	if len(binary) > largeModule {
		c.engine.large.Lock()
		defer c.engine.large.Unlock()
	}
	c.engine.slots <- struct{}{}
	defer func() { <-c.engine.slots }()
	m, err := decode(binary, c.engine.most)
	if err != nil {
		c.err = err
		return
	}
	// Both read all of the code, and neither needs the other.
	var out meter.Result
	var unmetered error
	var metering sync.WaitGroup
	metering.Go(func() { out, unmetered = metered(m) })
	a, err := check(m)
	metering.Wait()
	if err == nil {
		err = a.admit(c.engine.offered)
	}
	if err != nil {
		c.err = err
		return
	}
	c.memory = uint64(a.Memory.Min) * pageSize
	c.most = uint64(min(a.Memory.Max, wasm.MaxPages)) * pageSize
	c.entries = a.known()
	c.fixed = instanceCost + a.instanceBytes()
	c.report = a.report(c.digest)
	if unmetered != nil {
		c.err = unmetered
		return
	}
	if out.Start {
		c.begin = append(c.begin, meter.ExportStart)
	}
	if a.has(abi.ExportInitialize) {
		c.begin = append(c.begin, abi.ExportInitialize)
	}
	c.code, c.err = c.engine.compile(out.Wasm)
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
		if err := sealNew(e.dir); err != nil {
			e.log.Warn("compiled module is not kept for the next start", slog.Any("err", err))
		}
	}
	switch {
	case err == nil:
		return code, nil
	case errors.As(err, &disk): // the cache cannot be read
		return nil, fmt.Errorf("compile module: %w", err)
	}
	return nil, &Refusal{
		Reason:  Damaged,
		Problem: "the module is not valid: " + clip(printable(err.Error()), 512),
		Hint:    "build it anew; if that gives the same bytes, the fault is its compiler's",
	}
}

// tryCompile also catches what the compiler does when it meets a case that
// its authors thought impossible: a module must not end the host.
func (e *Engine) tryCompile(binary []byte) (code wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			code, err = nil, fmt.Errorf("the compiler failed: %v", r)
		}
	}()
	return e.rt.CompileModule(e.life, binary) //nolint:wrapcheck // compile says what it was for
}

// hold keeps the code for one more user; release must follow unless it
// answers false, as the module was closed before.
func (c *compilation) hold() bool {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.users == 0 {
		return false
	}
	c.users++
	return true
}

// release frees the code with the last user.
func (c *compilation) release() {
	e := c.engine
	e.mu.Lock()
	c.users--
	last := c.users == 0
	var idle []*instance
	if last {
		idle = c.drain()
	}
	if last && e.modules[c.digest] == c {
		delete(e.modules, c.digest)
	}
	e.mu.Unlock()
	for _, in := range idle {
		in.end()
	}
	if last && c.code != nil {
		// It only takes the code out of the runtime's table.
		_ = c.code.Close(context.WithoutCancel(e.life))
	}
}
