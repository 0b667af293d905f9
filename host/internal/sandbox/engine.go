package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/lograte"
	"github.com/wasmjob/wasmjob/host/internal/reach"
	"github.com/wasmjob/wasmjob/host/internal/wasm"
	"github.com/wasmjob/wasmjob/host/job"
)

// ErrClosed reports that the Engine was closed.
var ErrClosed = errors.New("sandbox is closed")

// Options are the settings of an Engine; the zero value is valid.
type Options struct {
	// CacheDir keeps compiled code between starts of the program. Its content is
	// executed, so it is created with mode 0700, and refused if other users may
	// write to it. Only one Engine may use it at a time. If empty, compiled code is
	// kept in memory only.
	CacheDir string
	// MaxModule is the maximum size of a module in bytes. 0 means 64 MiB.
	MaxModule int64
	// Budget is the memory, in bytes, that all guests together may have at a time. A
	// run that would exceed it waits. 0 means half the memory of the machine, or of
	// the control group of the process.
	Budget int64
	// CompileMemory is the memory, in bytes, that all compilations together may take
	// at a time. 0 means nine tenths of the heap's share, see Shares.
	CompileMemory int64
	// Compiler is the command line of a program that calls CompileInSubprocess with
	// two more arguments. It repeats a compilation that has ended the process
	// before. If empty, such a module is refused at once.
	Compiler []string
	// Refused is called when a module is refused because compiling it ended
	// processes. It may be nil.
	Refused func(digest, why string)
	// Compiled is called when a module was compiled that is not in the cache. It must
	// not block. It may be nil.
	Compiled func(digest string, took time.Duration)
	// Dirs are the directories that may be granted, including those below them.
	// Write applies to the grants as well. A job with another directory fails. nil
	// allows any, if the caller checks the grants.
	Dirs []job.Dir
	// Private lists paths that no granted directory may reach.
	Private []job.Private
	// Log receives messages for the operator of the host; nil discards them.
	Log *slog.Logger
}

// Engine compiles and runs modules. Its methods are safe for concurrent use.
type Engine struct {
	rt            wazero.Runtime
	cache         wazero.CompilationCache
	dir           string
	dirs          []job.Dir // that may be granted; nil: any
	guard         *reach.Guard
	maxModule     int64
	log           *slog.Logger
	hostFunctions map[string]map[string]wasm.FuncType
	ctx           context.Context //nolint:containedctx // ends all runs when the engine is closed
	cancel        context.CancelFunc
	runs          sync.WaitGroup
	budget        budget
	stacks        stacks
	logLimit      lograte.Limiter // limits the lines of guests
	masks         masks
	queue         *compileQueue
	trials        trials
	compiler      []string // see Options
	refused       func(digest, why string)
	compiled      func(digest string, took time.Duration)

	mu        sync.Mutex // guards the fields below
	closed    bool
	modules   map[string]*compilation
	compiling map[string]chan struct{} // by digest: ready of the latest compilation, even if it is no longer wanted
	refusals  map[string]*Refusal      // by digest
}

// New returns an Engine. It creates the cache directory if Options name one.
func New(o Options) (*Engine, error) {
	e := &Engine{
		dir: o.CacheDir, dirs: o.Dirs, guard: reach.NewGuard(o.Private), maxModule: orDefault(o.MaxModule, defaultModule),
		log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), modules: map[string]*compilation{}, compiling: map[string]chan struct{}{},
		refusals: map[string]*Refusal{}, compiler: o.Compiler, refused: o.Refused, compiled: o.Compiled,
	}
	var heap uint64 // of the host; compilations take their memory from it
	e.budget.limit, heap = Shares(o.Budget)
	e.budget.evict = e.evict
	e.queue = newCompileQueue(compileMemory(o.CompileMemory, heap))
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		// Debug information is untrusted, and its parser has no limits.
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
	e.ctx, e.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // cancelled by Close
	e.rt = wazero.NewRuntimeWithConfig(e.ctx, config)
	if err := e.exportHostFunctions(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// exportHostFunctions adds the functions that guests may import to the runtime. It records
// their types in e.hostFunctions, with which the imports of each module are compared.
func (e *Engine) exportHostFunctions() error {
	for _, export := range []func(context.Context, wazero.Runtime) error{exportYield, exportABI, exportAssembly} {
		if err := export(e.ctx, e.rt); err != nil {
			return err
		}
	}
	wasi, err := compileWASI(e.ctx, e.rt)
	if err != nil {
		return err
	}
	if _, err := e.rt.InstantiateModule(e.ctx, wasi, wazero.NewModuleConfig()); err != nil {
		return fmt.Errorf("export %s: %w", wasiModule, err)
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

// Close ends all runs, waits for them, and frees everything. Loaded modules can no
// longer be used. Close may be called more than once.
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
	after := context.WithoutCancel(e.ctx) // e.ctx has ended, but closing goes on
	err := e.rt.Close(after)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(after))
	}
	if err != nil {
		return fmt.Errorf("close sandbox: %w", err)
	}
	return nil
}

// beginUse registers a run or a compilation, for which Close waits. The caller must call
// e.runs.Done at its end. beginUse returns false if the engine is closed.
func (e *Engine) beginUse() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.runs.Add(1)
	return true
}

// digestOf returns the digest of a module.
func digestOf(binary []byte) string {
	sum := sha256.Sum256(binary)
	return hex.EncodeToString(sum[:])
}

// GuestMemory returns how many bytes all instances have, and how many they may have.
func (e *Engine) GuestMemory() (used, limit uint64) { return e.budget.memoryUsed(), e.budget.limit }
