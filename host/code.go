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
	"github.com/wasmjob/wasmjob/host/internal/native"
	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// maxModule bounds the bytes of one module.
const maxModule = 64 << 20

// code is what the jobs' items are run with: the caller's Runner, commands, or
// the sandbox with its modules.
type code struct {
	o       *Options
	engine  *sandbox.Engine // nil: the caller has a Runner
	clients []*outbound.Client

	mu      sync.Mutex // guards what follows while modules load side by side
	modules map[string]*sandbox.Module
	faults  map[string]error
}

// openCode loads the modules that jobs name. What is wrong with a module is
// kept for the jobs that need it; the error is that nothing at all can run.
func openCode(ctx context.Context, o Options) (*code, error) {
	if o.Runner != nil {
		return &code{o: &o}, nil
	}
	store, err := module.Open(filepath.Join(o.DataDir, "modules"))
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", o.DataDir)
	}
	engine, err := sandbox.New(sandbox.Options{CacheDir: filepath.Join(o.DataDir, "cache"), MaxModule: maxModule, Budget: o.Memory, Log: o.Log})
	if err != nil {
		return nil, failf(Internal, err, "sandbox")
	}
	c := &code{o: &o, engine: engine, modules: map[string]*sandbox.Module{}, faults: map[string]error{}}
	wanted := map[string]bool{}
	for _, j := range o.Jobs {
		if j.Command == "" {
			wanted[j.Module] = true
		}
		if j.StrategyModule != "" {
			wanted[j.StrategyModule] = true
		}
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
	run, err := c.runner(j)
	if err != nil {
		return nil, err
	}
	e := equipped{Runner: run, namespace: c.o.Namespace, secrets: map[string]string{}}
	for _, name := range j.Allow.Secrets {
		e.secrets[name] = c.o.Secrets[name]
	}
	if len(j.Allow.HTTP) > 0 {
		client, err := outbound.New(j.Allow.HTTP, outbound.Options{AllowPrivate: c.o.PrivateHosts})
		if err != nil {
			return nil, fmt.Errorf("grants of http: %w", err)
		}
		c.clients = append(c.clients, client)
		e.http = client
	}
	return e, nil
}

// runner gives what executes the job's code.
func (c *code) runner(j job.Config) (Runner, error) {
	switch {
	case c.o.Runner != nil:
		return c.o.Runner, nil
	case j.Command != "":
		command, err := native.New(j.Command)
		if err != nil {
			return nil, err
		}
		return command, nil
	}
	m, err := c.module(j.Module, string(j.Kind))
	if err != nil {
		return nil, err
	}
	return wasmGuests{c.engine, m}, nil
}

// strategist gives what asks the job's strategy, if that is a module.
func (c *code) strategist(j job.Config) (strategist, error) {
	if j.StrategyModule == "" {
		return nil, nil //nolint:nilnil // most jobs have none
	}
	m, err := c.module(j.StrategyModule, "strategy")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, call job.ShardCall) ([]int, error) { return c.engine.Shard(ctx, m, call) }, nil
}

// tryStrategies tells of modules that deal badly before it matters. One may
// need labels that a trial does not have, so this refuses no job.
func (c *code) tryStrategies(ctx context.Context) {
	for _, j := range c.o.Jobs {
		m := c.modules[j.StrategyModule]
		if m == nil {
			continue
		}
		if err := c.engine.CheckStrategy(ctx, m, j); err != nil && ctx.Err() == nil {
			c.o.Log.Warn("the strategy's module failed when it was tried", "job", j.Name, "module", j.StrategyModule, "error", err)
		}
	}
}

// module gives a module that was loaded, if it is of the kind.
func (c *code) module(name, kind string) (*sandbox.Module, error) {
	if err := c.faults[name]; err != nil {
		return nil, err
	}
	m := c.modules[name]
	if kinds := m.Report().Kinds; !slices.Contains(kinds, kind) {
		return nil, fmt.Errorf("module %s is of the kinds %v, not %s", name, kinds, kind)
	}
	return m, nil
}

func (c *code) close() error {
	for _, client := range c.clients {
		client.Close()
	}
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

// refusing are the guests of a job whose code this server does not run.
type refusing struct{ err error }

func (r refusing) Run(context.Context, job.Call) job.Outcome {
	return job.Outcome{Verdict: job.Failure, Error: "this server does not run the job: " + r.err.Error()}
}

// equipped gives the calls of one job what the job is granted, beside what the
// configuration itself says.
type equipped struct {
	Runner
	namespace string
	http      job.HTTP
	secrets   map[string]string
}

func (e equipped) Run(ctx context.Context, c job.Call) job.Outcome {
	c.Namespace, c.HTTP, c.Secrets = e.namespace, e.http, e.secrets
	return e.Runner.Run(ctx, c)
}

// wasmGuests runs one module.
type wasmGuests struct {
	engine *sandbox.Engine
	module *sandbox.Module
}

func (g wasmGuests) Run(ctx context.Context, c job.Call) job.Outcome {
	return g.engine.Run(ctx, g.module, c)
}
