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

// Code is what one job runs. It follows the job's configuration: what is in the
// call decides, and a run that has begun keeps what it began with.
type Code struct {
	library *Store

	turn chan struct{} // Holds one: who has put it in assembles what is to be now

	mu     sync.Mutex  // guards what follows
	peers  Peers       // nil: nobody else is asked for modules
	file   *job.Config // the job in the server's own file, which nobody changes; nil: it is not there
	fault  string      // why the newest configuration cannot be run; empty: it can
	now    *gear       // nil: nothing was equipped yet
	next   *gear       // the module that is to come; nil: none was asked for
	closed bool        // what comes later is not kept

	started, completed bool // the listeners of fires that now has
}

// NewCode is that of a job; file is the job in the server's own file, nil if it is not
// there.
func (l *Store) NewCode(file *job.Config) *Code {
	return &Code{library: l, file: file, turn: make(chan struct{}, 1)}
}

// AskPeers names those who may have the job's modules.
func (c *Code) AskPeers(from Peers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = from
}

// Load gets what a configuration needs, which may take as long as a module takes to
// come, and keeps it for the runs to come.
func (c *Code) Load(ctx context.Context, j job.Config) error {
	k, err := c.equip(ctx, j)
	if err == nil {
		k.release()
	}
	return err
}

// Check loads what a configuration runs, and tells why no run of it could begin.
func (c *Code) Check(ctx context.Context, j job.Config) error {
	k, err := c.equip(ctx, j)
	if err != nil {
		return err
	}
	defer k.release()
	if g, ok := k.run.(equipped); ok {
		if w, ok := g.guests.(wasmGuests); ok {
			return w.engine.Fits(ctx, w.module, j)
		}
	}
	return nil
}

// Redefine has the server's own file say something else.
func (c *Code) Redefine(file *job.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file = file
}

// equip gives the gear for a configuration, which may take as long as a module
// takes to come. Whoever gets a gear releases it.
func (c *Code) equip(ctx context.Context, j job.Config) (*gear, error) {
	if k := c.fitting(j); k != nil {
		return k, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if k := c.fitting(j); k != nil { // somebody else had the turn before
		return k, nil
	}
	k, err := c.assemble(ctx, j)
	if err != nil {
		if ctx.Err() == nil { // else it is nobody's fault
			c.tell(err)
		}
		return nil, err
	}
	started, completed := listens(k.run)
	old := k // which the code itself does not use once it is closed
	c.mu.Lock()
	c.fault = ""
	k.users++
	if !c.closed {
		old, c.now = c.now, k
		c.started, c.completed = started, completed
	}
	c.mu.Unlock()
	if old != nil {
		old.release()
	}
	return k, nil
}

// fitting gives the gear that is there if it is for a configuration, else nil.
func (c *Code) fitting(j job.Config) *gear {
	wants := wantsOf(&j)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || !c.now.wants.equal(&wants) {
		return nil
	}
	c.fault = ""
	c.now.users++
	return c.now
}

// Holds tells whether what a configuration, which is now the newest, needs is there,
// without waiting.
func (c *Code) Holds(j job.Config) bool {
	wants := wantsOf(&j)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || !c.now.wants.equal(&wants) {
		return false
	}
	c.fault = ""
	return true
}

func (c *Code) tell(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = err.Error()
}

// Fault is why the newest configuration cannot be run here; empty if it can.
func (c *Code) Fault() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// assemble makes a gear, which the code itself uses.
func (c *Code) assemble(ctx context.Context, j job.Config) (k *gear, err error) {
	if err := c.may(j); err != nil {
		return nil, err
	}
	k = &gear{wants: wantsOf(&j), users: 1, guardian: c}
	defer func() {
		if err != nil {
			k.release()
			k = nil
		}
	}()
	if k.run, err = c.runner(ctx, j, k); err != nil {
		return k, err
	}
	if err := c.strategist(ctx, j, k); err != nil {
		return k, err
	}
	e := equipped{guests: k.run, o: &c.library.o, allow: &k.wants.Allow}
	if len(j.Allow.HTTP) > 0 {
		client, err := outbound.New(j.Allow.HTTP, outbound.Options{AllowPrivate: c.library.o.PrivateHosts})
		if err != nil {
			return k, fmt.Errorf("grants of http: %w", err)
		}
		k.give = append(k.give, client.Close)
		e.http = client
	}
	k.run = e
	return k, nil
}

// may tells why this server must not run the job as it is.
func (c *Code) may(j job.Config) error {
	c.mu.Lock()
	file := c.file
	c.mu.Unlock()
	return c.library.o.Refuse(j, file)
}

// runner gives what executes the job's code.
func (c *Code) runner(ctx context.Context, j job.Config, k *gear) (guests, error) {
	switch {
	case c.library.o.Runner != nil:
		return c.library.o.Runner, nil
	case j.Command != "":
		command, err := c.library.o.Commands.New(j.Command)
		if err != nil {
			return nil, err
		}
		return command, nil
	}
	m, err := c.module(ctx, j.Module, j.ModuleDigest, string(j.Kind), k)
	if err != nil {
		return nil, err
	}
	return wasmGuests{c.library.engine, m}, nil
}

// strategist finds what asks the job's strategy, if that is a module.
func (c *Code) strategist(ctx context.Context, j job.Config, k *gear) error {
	if j.StrategyModule == "" || c.library.o.Runner != nil {
		return nil
	}
	m, err := c.module(ctx, j.StrategyModule, j.StrategyDigest, "strategy", k)
	if err != nil {
		return err
	}
	k.deal = func(ctx context.Context, call job.ShardCall) ([]int, error) {
		return c.library.engine.Shard(ctx, m, call)
	}
	return nil
}

// module takes a module for a gear, by its digest or, where nobody has told that
// yet, by the name that the server's own file has for it.
func (c *Code) module(ctx context.Context, name, digest, kind string, k *gear) (m *sandbox.Module, err error) {
	if digest == "" {
		if digest, err = c.library.current().Digest(name); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	from := c.peers
	c.mu.Unlock()
	if m, err = c.library.take(ctx, digest, from); err != nil {
		if _, own := c.library.current().Digest(name); own != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("%w; %w", own, err) // why the server's own file does not do
		}
		return nil, fmt.Errorf("module %s: %w", name, err)
	}
	k.give = append(k.give, func() { c.library.give(digest) })
	if kinds := m.Report().Kinds; !slices.Contains(kinds, kind) {
		return nil, fmt.Errorf("module %s is of the kinds %v, not %s", name, kinds, kind)
	}
	return m, nil
}

// Run implements runner.Guests.
func (c *Code) Run(ctx context.Context, call job.Call) job.Outcome {
	k := c.fitting(call.Config)
	var err error
	if k == nil {
		k, err = c.await(ctx, call)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return job.Outcome{Verdict: job.Stopped, Error: "it was stopped before its module was there"}
	case err != nil:
		return job.Outcome{Verdict: job.Failure, Error: "this server does not run the job: " + err.Error()}
	}
	defer k.release()
	return k.run.Run(ctx, call)
}

// await is equip for a run: others get its worker while the module comes and is
// compiled.
func (c *Code) await(ctx context.Context, call job.Call) (*gear, error) {
	if call.Worker == nil {
		return c.equip(ctx, call.Config)
	}
	call.Worker.Release()
	k, err := c.equip(ctx, call.Config)
	if err == nil {
		if err = call.Worker.Acquire(ctx); err != nil {
			k.release()
		}
	}
	return k, err
}

// Listens implements runner.Listener.
func (c *Code) Listens() (started, completed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started, c.completed
}

// listens asks what runs a job for its listeners.
func listens(r guests) (started, completed bool) {
	if l, ok := r.(fireListener); ok {
		return l.Listens()
	}
	return false, false
}

// Shard asks the job's strategy, which is a module.
func (c *Code) Shard(ctx context.Context, call job.ShardCall) ([]int, error) {
	k, err := c.equip(ctx, call.Config)
	if err != nil {
		return nil, err
	}
	defer k.release()
	if k.deal == nil {
		return nil, errors.New("this server runs no modules")
	}
	return k.deal(ctx, call)
}

// Try tells of a strategy's module that deals badly before it matters. One may
// need labels that a trial does not have, so this refuses no job.
func (c *Code) Try(ctx context.Context, j job.Config) {
	if j.StrategyModule == "" || c.library.o.Runner != nil {
		return
	}
	var k gear
	k.guardian = c
	m, err := c.module(ctx, j.StrategyModule, j.StrategyDigest, "strategy", &k)
	if err == nil {
		err = c.library.engine.CheckStrategy(ctx, m, j)
	}
	for _, give := range k.give {
		give()
	}
	if err != nil && ctx.Err() == nil {
		c.library.o.Log.Warn("the strategy's module failed when it was tried", "job", j.Name, "module", j.StrategyModule, "error", err)
	}
}

// Prepare implements runner.Preparer.
func (c *Code) Prepare(ctx context.Context, j job.Config) error {
	if c.library.o.Runner != nil || j.Command != "" {
		return nil
	}
	k := &gear{users: 1, guardian: c}
	_, err := c.module(ctx, j.Module, j.ModuleDigest, string(j.Kind), k)
	if err == nil {
		err = ctx.Err() // something else is wanted meanwhile
	}
	if err != nil {
		k.release()
		return err
	}
	old := k
	c.mu.Lock()
	if !c.closed {
		old, c.next = c.next, k
	}
	c.mu.Unlock()
	if old != nil {
		old.release()
	}
	return nil
}

// Close gives up what the job holds; its runs have ended. A module that still
// comes is given back when it does.
func (c *Code) Close() {
	c.mu.Lock()
	held := [...]*gear{c.now, c.next}
	c.now, c.next, c.closed = nil, nil, true
	c.mu.Unlock()
	for _, k := range held {
		if k != nil {
			k.release()
		}
	}
}
