package supply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// Code is the code of one job. It follows the job's configuration: each run uses the code
// for the configuration of its call, and keeps that until it ends.
type Code struct {
	store *Store

	preparing chan struct{} // holds a value while one caller prepares code

	mu     sync.Mutex  // guards the fields below
	peers  Peers       // nil if the job's modules are not fetched
	file   *job.Config // the job in the server's own file, never changed; nil if the file does not have it
	fault  string      // why the newest configuration cannot run; empty if it can
	now    *prepared   // nil if none yet
	next   *prepared   // leases the next module of the job; nil if none
	closed bool        // nothing is kept any more

	started, completed bool // which listeners of fires now has
}

// NewCode returns the code of a job. file is the job in the server's own file, nil if
// the file does not have it. The caller must close the Code.
func (s *Store) NewCode(file *job.Config) *Code {
	return &Code{store: s, file: file, preparing: make(chan struct{}, 1)}
}

// SetPeers sets the servers from which missing modules are fetched.
func (c *Code) SetPeers(peers Peers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = peers
}

// Redefine sets the job in the server's own file.
func (c *Code) Redefine(file *job.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file = file
}

// Load prepares the code for a configuration and keeps it for later runs. It may
// take as long as it takes to fetch and compile a module.
func (c *Code) Load(ctx context.Context, j job.Config) error {
	p, err := c.lease(ctx, j)
	if err == nil {
		p.end()
	}
	return err
}

// Check calls Load, and also returns an error if no run of the module could begin.
func (c *Code) Check(ctx context.Context, j job.Config) error {
	p, err := c.lease(ctx, j)
	if err != nil {
		return err
	}
	defer p.end()
	if g, ok := p.guests.(granted); ok {
		if m, ok := g.guests.(moduleGuests); ok { // a command or a Runner needs no directories
			return m.engine.Opens(ctx, m.module, j)
		}
	}
	return nil
}

// Ready reports whether the code for j, the newest configuration, is prepared.
func (c *Code) Ready(j job.Config) bool {
	p := c.leasePrepared(j)
	if p != nil {
		p.end()
	}
	return p != nil
}

// Fault returns why the newest configuration cannot run here, or "" if it can.
func (c *Code) Fault() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// lease returns the code for a configuration, which it prepares if necessary. The
// caller ends the lease.
func (c *Code) lease(ctx context.Context, j job.Config) (*prepared, error) {
	if p := c.leasePrepared(j); p != nil {
		return p, nil
	}
	select {
	case c.preparing <- struct{}{}:
		defer func() { <-c.preparing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p := c.leasePrepared(j); p != nil { // another caller has just prepared it
		return p, nil
	}
	p, err := c.prepare(ctx, j)
	if err != nil {
		if ctx.Err() == nil { // otherwise it was cancelled and did not fail
			c.setFault(err)
		}
		return nil, err
	}
	started, completed := listens(p.guests)
	replaced := p // if c is closed, its own lease of p ends at once, and the caller's is left
	c.mu.Lock()
	c.fault = ""
	p.leases++
	if !c.closed {
		replaced, c.now = c.now, p
		c.started, c.completed = started, completed
	}
	c.mu.Unlock()
	if replaced != nil {
		replaced.end()
	}
	return p, nil
}

// leasePrepared returns the prepared code if it is for the configuration, or nil.
func (c *Code) leasePrepared(j job.Config) *prepared {
	wanted, signers := keyOf(&j), c.store.current().signers(&j)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || !c.now.key.equal(&wanted) || !slices.Equal(c.now.signers, signers) {
		return nil
	}
	c.fault = ""
	c.now.leases++
	return c.now
}

// setFault records why the newest configuration cannot run here.
func (c *Code) setFault(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = err.Error()
}

// KeyFault is a fault of the value that a key of the job has.
type KeyFault struct {
	Key string // as in the configuration
	Err error
}

// Error implements error.
func (f *KeyFault) Error() string { return f.Err.Error() }

// Unwrap returns the error without the key.
func (f *KeyFault) Unwrap() error { return f.Err }

// prepare returns new code with one lease. After an error it has released what it leased
// before.
func (c *Code) prepare(ctx context.Context, j job.Config) (p *prepared, err error) {
	if err := c.refuse(j); err != nil {
		return nil, err
	}
	p = &prepared{key: keyOf(&j), signers: c.store.current().signers(&j), leases: 1, code: c}
	defer func() {
		if err != nil {
			p.end()
			p = nil
		}
	}()
	if p.guests, err = c.guestsFor(ctx, j, p); err != nil {
		return p, err
	}
	if err := c.prepareStrategy(ctx, j, p); err != nil {
		return p, err
	}
	g := granted{guests: p.guests, o: &c.store.o, allow: &p.key.Allow}
	if len(j.Allow.HTTP) > 0 {
		client, err := outbound.New(j.Allow.HTTP, outbound.Options{AllowPrivate: c.store.o.PrivateHosts})
		if err != nil {
			return p, fmt.Errorf("grants of http: %w", err)
		}
		p.release = append(p.release, client.Close)
		g.http = client
	}
	p.guests = g
	return p, nil
}

// refuse returns why this server must not run the job with this configuration.
func (c *Code) refuse(j job.Config) error {
	c.mu.Lock()
	file := c.file
	c.mu.Unlock()
	return c.store.o.Refuse(j, file)
}

// guestsFor returns the guests that run the job's code. p gets the lease of their module.
func (c *Code) guestsFor(ctx context.Context, j job.Config, p *prepared) (guests, error) {
	switch {
	case c.store.o.Runner != nil:
		return c.store.o.Runner, nil
	case j.Command != "":
		command, err := c.store.o.Commands.New(j.Command)
		if err != nil {
			return nil, &KeyFault{"command", err}
		}
		return command, nil
	}
	m, err := c.leaseModule(ctx, j.Module, j.ModuleDigest, string(j.Kind), p)
	if err != nil {
		return nil, &KeyFault{"module", err}
	}
	if err := c.store.engine.Room(m, j); err != nil { // no run would ever begin
		return nil, err
	}
	return moduleGuests{c.store.engine, m}, nil
}

// prepareStrategy prepares the job's strategy if it is a module. p gets its lease. A host with
// a Runner of its own loads no modules; its options refuse a job with such a strategy.
func (c *Code) prepareStrategy(ctx context.Context, j job.Config, p *prepared) error {
	if j.StrategyModule == "" || c.store.o.Runner != nil {
		return nil
	}
	m, err := c.leaseModule(ctx, j.StrategyModule, j.StrategyDigest, "strategy", p)
	if err != nil {
		return &KeyFault{"strategy_module", err}
	}
	p.assign = func(ctx context.Context, call job.ShardCall) ([]int, error) {
		return c.store.engine.Shard(ctx, m, call)
	}
	return nil
}

// leaseModule leases a module for p by its digest. Without a digest it leases the module
// of that name in the server's own file.
func (c *Code) leaseModule(ctx context.Context, name, digest, kind string, p *prepared) (m *sandbox.Module, err error) {
	if digest == "" {
		if digest, err = c.store.current().Digest(ctx, name); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	peers := c.peers
	c.mu.Unlock()
	if m, err = c.store.lease(ctx, digest, peers); err != nil {
		if _, own := c.store.current().Digest(ctx, name); own != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("%w; %w", own, err) // own: why the server's own file does not help
		}
		return nil, fmt.Errorf("module %s: %w", name, err)
	}
	p.release = append(p.release, func() { c.store.release(digest) })
	if err := c.store.current().verify(name, digest); err != nil {
		return nil, fmt.Errorf("module %s: %w", name, err)
	}
	if kinds := m.Kinds(); !slices.Contains(kinds, kind) {
		return nil, fmt.Errorf("module %s is of the kinds %v, not %s", name, kinds, kind)
	}
	return m, nil
}

// Run implements runner.Guests.
func (c *Code) Run(ctx context.Context, call job.Call) job.Outcome {
	p := c.leasePrepared(call.Config)
	var err error
	if p == nil {
		p, err = c.leaseForRun(ctx, call)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return job.Outcome{Verdict: job.Stopped, Error: "it was stopped before its module was there"}
	case err != nil:
		return job.Outcome{Verdict: job.Failure, Error: "this server does not run the job: " + err.Error()}
	}
	defer p.end()
	return p.guests.Run(ctx, call)
}

// leaseForRun is lease for a run. It releases the run's worker while a module is fetched
// and compiled.
func (c *Code) leaseForRun(ctx context.Context, call job.Call) (*prepared, error) {
	if call.Worker == nil {
		return c.lease(ctx, call.Config)
	}
	call.Worker.Release()
	p, err := c.lease(ctx, call.Config)
	if err == nil {
		if err = call.Worker.Acquire(ctx); err != nil {
			p.end()
		}
	}
	return p, err
}

// Listens implements runner.Listener.
func (c *Code) Listens() (started, completed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started, c.completed
}

// Shard runs the strategy module of the job.
func (c *Code) Shard(ctx context.Context, call job.ShardCall) ([]int, error) {
	p, err := c.lease(ctx, call.Config)
	if err != nil {
		return nil, err
	}
	defer p.end()
	if p.assign == nil {
		return nil, errors.New("this server runs no modules")
	}
	return p.assign(ctx, call)
}

// CheckStrategy logs a warning if the job's strategy module fails a trial. The trial has
// no labels, which a good strategy may need, so the job is not refused.
func (c *Code) CheckStrategy(ctx context.Context, j job.Config) {
	if j.StrategyModule == "" || c.store.o.Runner != nil {
		return
	}
	p := prepared{code: c}
	m, err := c.leaseModule(ctx, j.StrategyModule, j.StrategyDigest, "strategy", &p)
	if err == nil {
		err = c.store.engine.CheckStrategy(ctx, m, j)
	}
	p.releaseAll()
	if err != nil && ctx.Err() == nil {
		c.store.o.Log.Warn("the strategy's module failed when it was tried", "job", j.Name, "module", j.StrategyModule, "error", err)
	}
}

// Prepare implements runner.Preparer. It leases the module of the configuration to
// which the job will be switched.
func (c *Code) Prepare(ctx context.Context, j job.Config) error {
	if c.store.o.Runner != nil || j.Command != "" {
		return nil
	}
	p := &prepared{leases: 1, code: c}
	_, err := c.leaseModule(ctx, j.Module, j.ModuleDigest, string(j.Kind), p)
	if err == nil {
		err = ctx.Err() // the job will be switched to another module
	}
	if err != nil {
		p.end()
		return err
	}
	replaced := p // released at once if c is closed
	c.mu.Lock()
	if !c.closed {
		replaced, c.next = c.next, p
	}
	c.mu.Unlock()
	if replaced != nil {
		replaced.end()
	}
	return nil
}

// Close releases what the job leases. All its runs must have ended. Code that is still
// being prepared is released when it is ready.
func (c *Code) Close() {
	c.mu.Lock()
	kept := [...]*prepared{c.now, c.next}
	c.now, c.next, c.closed = nil, nil, true
	c.mu.Unlock()
	for _, p := range kept {
		if p != nil {
			p.end()
		}
	}
}
