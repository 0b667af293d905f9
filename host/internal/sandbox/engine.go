package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/lograte"
	"github.com/wasmjob/wasmjob/host/internal/reach"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/host/job"
)

// ErrClosed is the error of an Engine that was closed.
var ErrClosed = errors.New("sandbox is closed")

// Options are the settings of an Engine; the zero value is useful.
type Options struct {
	// CacheDir keeps compiled code between starts of the program. It holds
	// machine code that will be executed, so it is made with mode 0700, and
	// refused if others may write there. One Engine uses it at a time. Empty:
	// compiled code lives in memory only.
	CacheDir string
	// MaxModule bounds the bytes of one module. 0: 64 MiB.
	MaxModule int64
	// Budget bounds the memory, in bytes, that all guests have at a time. A run
	// that would exceed it waits. 0: half of what the machine, or the control
	// group of the process, has.
	Budget int64
	// CompileMemory bounds, in bytes, what all compilations take at a time. 0: nine
	// tenths of the heap's share, see Shares.
	CompileMemory int64
	// Compiler is the command line of a program that calls CompileApart with two
	// more args. It compiles a module again whose compilation has ended the
	// process before. Empty: such a module is refused at once.
	Compiler []string
	// Refused is told of a module that is refused because compiling it ended
	// processes. It may be nil.
	Refused func(digest, why string)
	// Dirs are the directories of the server that may be granted, with what is
	// below them, and Write; a job with another one fails. Nil: any, as the
	// caller looks after that.
	Dirs []job.Dir
	// Private is what no directory may reach that is granted.
	Private []job.Private
	// Log receives what the operator of the host should know; nil discards.
	Log *slog.Logger
}

// Engine compiles and runs modules. Its methods may be called from any
// goroutine.
type Engine struct {
	rt            wazero.Runtime
	cache         wazero.CompilationCache
	dir           string
	dirs          []job.Dir // may be granted; nil: any
	guard         *reach.Guard
	maxModule     int64
	log           *slog.Logger
	hostFunctions map[string]map[string]wasm.FuncType
	ctx           context.Context //nolint:containedctx // ends every run when the engine is closed
	cancel        context.CancelFunc
	runs          sync.WaitGroup
	budget        budget
	stacks        stacks
	logLimit      lograte.Limiter // lines of guests
	masks         masks
	queue         *compileQueue
	trials        trials
	compiler      []string // see Options
	refused       func(digest, why string)

	mu        sync.Mutex // guards what follows
	closed    bool
	modules   map[string]*compilation
	compiling map[string]chan struct{} // by digest, ready of the last that goes on, wanted or not
	refusals  map[string]*Refusal      // by digest
}

// New makes an Engine, and the cache directory if there is to be one.
func New(o Options) (*Engine, error) {
	e := &Engine{dir: o.CacheDir, dirs: o.Dirs, guard: reach.NewGuard(o.Private), maxModule: o.MaxModule, log: o.Log, modules: map[string]*compilation{}, compiling: map[string]chan struct{}{}, refusals: map[string]*Refusal{}, compiler: o.Compiler, refused: o.Refused}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.maxModule <= 0 {
		e.maxModule = defaultModule
	}
	var heap uint64
	e.budget.limit, heap = Shares(o.Budget)
	e.budget.evict = e.evict
	e.queue = newCompileQueue(compileMemory(o.CompileMemory, heap))
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		// Debug information is foreign input to a parser that has no bounds.
		WithDebugInfoEnabled(false)
	if e.dir != "" {
		cache, err := openCache(e.dir)
		if err != nil {
			return nil, err
		}
		e.cache = cache
		if e.trials, err = openTrials(e.dir, e.queue.maxSingle()); err != nil {
			return nil, err
		}
		if err := removeSubprocessDirs(e.dir); err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	e.ctx, e.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // ended by Close alone
	e.rt = wazero.NewRuntimeWithConfig(e.ctx, config)
	if err := e.exportHostFunctions(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// exportHostFunctions puts what guests may import into the runtime and notes its types.
func (e *Engine) exportHostFunctions() error {
	if err := exportYield(e.ctx, e.rt); err != nil {
		return err
	}
	if err := exportABI(e.ctx, e.rt); err != nil {
		return err
	}
	if err := exportAssembly(e.ctx, e.rt); err != nil {
		return err
	}
	wasi, err := compileWASI(e.ctx, e.rt)
	if err != nil {
		return err
	}
	if _, err := e.rt.InstantiateModule(e.ctx, wasi, wazero.NewModuleConfig()); err != nil {
		return fmt.Errorf("offer %s: %w", wasiModule, err)
	}
	e.hostFunctions = map[string]map[string]wasm.FuncType{abi.Module: {}, wasiModule: {}, envModule: {}}
	for _, f := range hostFunctions() {
		e.hostFunctions[abi.Module][f.name] = f.typ
	}
	for _, f := range assemblyFunctions() {
		e.hostFunctions[envModule][f.name] = f.typ
	}
	for name, f := range wasi.ExportedFunctions() {
		e.hostFunctions[wasiModule][name] = wasm.FuncType{Params: string(f.ParamTypes()), Results: string(f.ResultTypes())}
	}
	return nil
}

// Close ends all runs, waits for them, and frees everything. Modules that were
// loaded are of no use afterwards. It is safe to call twice.
func (e *Engine) Close() error {
	e.mu.Lock()
	already := e.closed
	e.closed = true
	e.mu.Unlock()
	if already {
		return nil
	}
	e.cancel()
	e.runs.Wait()
	e.evict()
	e.stacks.close()
	after := context.WithoutCancel(e.ctx)
	err := e.rt.Close(after)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(after))
	}
	if err != nil {
		return fmt.Errorf("close sandbox: %w", err)
	}
	return nil
}

// beginUse counts a run or a compilation that Close must wait for.
func (e *Engine) beginUse() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.runs.Add(1)
	return true
}

// digestOf is how modules are addressed.
func digestOf(binary []byte) string {
	sum := sha256.Sum256(binary)
	return hex.EncodeToString(sum[:])
}
