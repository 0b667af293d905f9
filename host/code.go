package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// maxModule bounds the bytes of one module.
const maxModule = 64 << 20

// code is what the jobs' items are run with: the caller's Runner, or the
// sandbox with its modules.
type code struct {
	own    Runner
	engine *sandbox.Engine

	mu      sync.Mutex // guards what follows while modules load side by side
	modules map[string]*sandbox.Module
	faults  map[string]error
}

// openCode loads the modules that jobs name. What is wrong with a module is
// kept for the jobs that need it; the error is that nothing at all can run.
func openCode(ctx context.Context, o Options) (*code, error) {
	if o.Runner != nil {
		return &code{own: o.Runner}, nil
	}
	store, err := module.Open(filepath.Join(o.DataDir, "modules"))
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", o.DataDir)
	}
	engine, err := sandbox.New(sandbox.Options{CacheDir: filepath.Join(o.DataDir, "cache"), MaxModule: maxModule, Log: o.Log})
	if err != nil {
		return nil, failf(Internal, err, "sandbox")
	}
	c := &code{engine: engine, modules: map[string]*sandbox.Module{}, faults: map[string]error{}}
	wanted := map[string]bool{}
	for _, j := range o.Jobs {
		wanted[j.Module] = true
	}
	var loading errgroup.Group // none of them gives up because of another
	loading.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		loading.Go(func() error {
			m, err := load(ctx, store, engine, o.Modules[name])
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil {
				c.faults[name] = fmt.Errorf("module %s: %w", name, err)
				return nil
			}
			c.modules[name] = m
			return nil
		})
	}
	_ = loading.Wait() // faults are kept by module
	return c, nil
}

func load(ctx context.Context, store *module.Store, engine *sandbox.Engine, m Module) (*sandbox.Module, error) {
	_, wasm, err := store.LoadSource("file:"+m.Path, m.SHA256, "", maxModule)
	if err != nil {
		return nil, err
	}
	return engine.Load(ctx, wasm)
}

// ofTheSystem tells a full disk and its like from a module that is wrong, or not
// where the configuration says.
func ofTheSystem(err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	_, call := errors.AsType[*os.SyscallError](err)
	return path || link || call
}

// of gives what runs the job's items, or why nothing can.
func (c *code) of(j job.Config) (runner.Guests, error) {
	if c.own != nil {
		return c.own, nil
	}
	if err := c.faults[j.Module]; err != nil {
		return nil, err
	}
	m := c.modules[j.Module]
	if kinds := m.Report().Kinds; !slices.Contains(kinds, string(j.Kind)) {
		return nil, fmt.Errorf("module %s is for jobs of kind %v, this one is %s", j.Module, kinds, j.Kind)
	}
	return wasmGuests{c.engine, m}, nil
}

func (c *code) close() error {
	if c.engine == nil {
		return nil
	}
	for _, m := range c.modules {
		m.Close()
	}
	if err := c.engine.Close(); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		return fmt.Errorf("close the sandbox: %w", err)
	}
	return nil
}

// wasmGuests runs one module.
type wasmGuests struct {
	engine *sandbox.Engine
	module *sandbox.Module
}

func (g wasmGuests) Run(ctx context.Context, c job.Call) job.Outcome {
	return g.engine.Run(ctx, g.module, c)
}
