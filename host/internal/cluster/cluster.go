// Package cluster runs a job on several hosts in one test process, on a real ZooKeeper,
// and lets a test wait for states of the job's nodes, guests and rows. It is only for
// tests and benchmarks and checks nothing itself; zktest.Server.Log has the transactions.
//
// Flow: New connects an operator to a server → Start adds a member, whose
// connection goes through a proxy so that it can die or freeze → guests run as
// long as they are held (Hold, Release) → Await waits for a State by following
// the tree (follow.go), never by time.
package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	// patience is how long a test waits at most.
	patience = time.Minute
	// LongSession is longer than a server grants with the default tick: the session of a
	// member that must survive on a busy machine.
	LongSession = time.Minute
)

// State is the state of the job at one moment.
type State struct {
	View      *protocol.View // nil before the tree was read
	Guests    []job.Call     // running guests, in the order of their starts
	Calls     []job.Call     // all guests that were ever started
	Rows      []trace.Row    // stored so far, of all members
	Listeners []string       // events of listener calls
}

// Cluster is one job with its members. Its methods fail the test.
type Cluster struct {
	t         testing.TB
	server    *zktest.Server
	namespace string
	job       layout.Layout
	operator  registry.Session
	ctx       context.Context //nolint:containedctx // the test's, extended until its members have ended

	follow func() // starts following the tree, which is expensive for large jobs

	mu      sync.Mutex // guards the fields below
	state   State
	changed chan struct{} // closed and replaced at each change of state
	held    chan struct{} // guests wait until it is closed; nil: they do not wait
}

// New creates a job of layout 2.1 in its own namespace, without members. Its nodes need
// not exist.
func New(t testing.TB, server *zktest.Server, namespace, name string) *Cluster {
	t.Helper()
	return In(t, server, layout.NewJob(namespace, name), namespace)
}

// In is New for a job of any layout, in namespace. The session of its operator is ended after the
// test, when the members have ended.
func In(t testing.TB, server *zktest.Server, of layout.Layout, namespace string) *Cluster {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	c := &Cluster{
		t: t, server: server, namespace: namespace, job: of, ctx: ctx,
		changed: make(chan struct{}),
	}
	r, err := zk.New(zk.Options{Servers: []string{server.Address()}, SessionTimeout: LongSession})
	if err != nil {
		t.Fatal(err)
	}
	f := newFollower(c)
	if c.operator, err = r.Open(ctx, f.notify); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	c.follow = sync.OnceFunc(func() { work.Go(f.run) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = c.operator.Commit(ctx, registry.Op{Kind: registry.Create, Path: marks})
	if err != nil && !errors.Is(err, registry.ErrConflict) {
		t.Fatal(err)
	}
	return c
}

// marks is a node outside the namespaces that Mark sets.
const marks = "/marks"

// Job returns the layout of the job's nodes.
func (c *Cluster) Job() layout.Layout { return c.job }

// Mark writes a node that is not part of the job, and returns its position in the order
// of all transactions.
func (c *Cluster) Mark() int64 {
	c.t.Helper()
	return c.Write(registry.Op{Kind: registry.Set, Path: marks, Version: registry.AnyVersion}).Revision
}

// Write commits a transaction of an operator.
func (c *Cluster) Write(ops ...registry.Op) registry.Receipt {
	c.t.Helper()
	receipt, err := c.operator.Commit(c.ctx, ops...)
	if err != nil {
		c.t.Fatalf("write of an operator: %v", err)
	}
	return receipt
}

// Read reads the current state of a node.
func (c *Cluster) Read(path string) registry.Node {
	c.t.Helper()
	n, err := c.operator.Read(c.ctx, path)
	if err != nil {
		c.t.Fatalf("read %s: %v", path, err)
	}
	return n
}

// Tree reads every node below and including path, and passes it to each, parents first.
func (c *Cluster) Tree(path string, each func(path string, n registry.Node)) {
	c.t.Helper()
	n := c.Read(path)
	if !n.Exists {
		return
	}
	each(path, n)
	for _, name := range n.Children {
		c.Tree(strings.TrimSuffix(path, "/")+"/"+name, each)
	}
}

// Await waits for a state for which is returns true, and returns it. A failure names what it waited
// for.
func (c *Cluster) Await(what string, is func(State) bool) State {
	c.t.Helper()
	c.follow()
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	for {
		c.mu.Lock()
		s, changed := c.state, c.changed
		c.mu.Unlock()
		if s.View != nil && is(s) {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.t.Fatalf("waited in vain for %s; %d guests, %d rows, view %+v", what, len(s.Guests), len(s.Rows), s.View)
		}
	}
}

// State returns the current state. Its view is maintained only after the first call of
// Await.
func (c *Cluster) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// change changes the state by f and publishes it. Slices in it are never changed in place, since
// tests keep earlier states.
func (c *Cluster) change(f func(*State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.state)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Hold makes guests that start from now on run until End or Release, or until they are
// cancelled.
func (c *Cluster) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(chan struct{})
	}
}

// End lets the guests that are held now succeed.
func (c *Cluster) End() {
	c.Release()
	c.Hold()
}

// Release lets all guests end, including those that start later.
func (c *Cluster) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil {
		close(c.held)
		c.held = nil
	}
}

// guest is the guest of every member. It records its call, and succeeds at once or, if guests are
// held, when it is let go. A call of a listener is only recorded.
func (c *Cluster) guest(ctx context.Context, call job.Call) job.Outcome {
	if call.Event != "" {
		c.change(func(s *State) { s.Listeners = append(slices.Clip(s.Listeners), string(call.Event)) })
		return job.Outcome{Verdict: job.OK}
	}
	var held chan struct{}
	c.change(func(s *State) {
		held = c.held
		s.Guests = append(slices.Clip(s.Guests), call)
		s.Calls = append(slices.Clip(s.Calls), call)
	})
	defer c.change(func(s *State) {
		s.Guests = slices.DeleteFunc(slices.Clone(s.Guests), func(o job.Call) bool {
			return o.Instance == call.Instance && o.Item == call.Item && o.RunID == call.RunID && o.Attempt == call.Attempt
		})
	})
	if held == nil {
		return job.Outcome{Verdict: job.OK}
	}
	select {
	case <-held:
		return job.Outcome{Verdict: job.OK}
	case <-ctx.Done():
		return job.Outcome{Verdict: job.Stopped}
	}
}

// guests is the host.Runner of a member.
type guests struct {
	host.Func
	listens bool
}

// Listens is part of host.Listener.
func (g guests) Listens() (started, completed bool) { return g.listens, g.listens }

// sink is the sink of all members.
type sink struct{ c *Cluster }

// Write keeps the rows.
func (k sink) Write(_ context.Context, batch []trace.Row) error {
	k.c.change(func(s *State) { s.Rows = append(slices.Clip(s.Rows), batch...) })
	return nil
}

// Options of a member.
type Options struct {
	Instance job.InstanceID
	Job      job.Config
	// Session is the requested time-out; LongSession if 0.
	Session time.Duration
	// Listens is set if its job has listeners of fires.
	Listens bool
	// Workers is how many guests the member runs at once; 0 means any number.
	Workers int
	// Adjust changes the options of the host before it is created. If it sets another
	// Registry, the member has no proxy and closes that registry itself.
	Adjust func(*host.Options)
}

// Member is a host that runs the job.
type Member struct {
	Host  *host.Host
	c     *Cluster
	proxy *zktest.Proxy
	stop  context.CancelFunc
	ended chan error // holds the error of Run once it has returned
	dead  bool       // Kill was called
}

// anyWorkers is more workers than a test has guests.
const anyWorkers = 1 << 20

// Start adds a member and returns when it has joined.
func (c *Cluster) Start(o Options) *Member {
	c.t.Helper()
	m := &Member{c: c, proxy: zktest.NewProxy(c.t, c.server.Address()), ended: make(chan error, 1)}
	if o.Session == 0 {
		o.Session = LongSession
	}
	if o.Workers == 0 {
		o.Workers = anyWorkers
	}
	log := slog.New(slog.NewTextHandler(c.t.Output(), nil)).With("member", o.Instance)
	r, err := zk.New(zk.Options{Servers: []string{m.proxy.Address()}, SessionTimeout: o.Session, Logger: log})
	if err != nil {
		c.t.Fatal(err)
	}
	h := host.Options{
		Registry: r, Namespace: c.namespace, Jobs: []job.Config{o.Job}, Instance: o.Instance,
		Runner: guests{c.guest, o.Listens}, Sinks: []trace.Sink{sink{c}}, Workers: o.Workers, Log: log,
	}
	if o.Adjust != nil {
		o.Adjust(&h)
	}
	if m.Host, err = host.New(h); err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(c.ctx)
	m.stop = stop
	go func() { m.ended <- m.Host.Run(ctx) }()
	c.t.Cleanup(func() {
		c.Release()
		m.stop()
		m.proxy.Set(zktest.Pass)
		if err := m.end(); err != nil && !m.dead {
			c.t.Errorf("member %s: %v", o.Instance, err)
		}
		if err := r.Close(); err != nil {
			c.t.Error(err)
		}
	})
	m.ready()
	return m
}

// ready waits until the member has joined.
func (m *Member) ready() {
	m.c.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-m.Host.Ready():
	case err := <-m.ended:
		m.ended <- err // for end
		m.c.t.Fatalf("a member ended instead of joining: %v", err)
	case <-late.C:
		m.c.t.Fatal("a member does not join")
	}
}

// Leave makes the member leave, as a signal does to the daemon: its guests may end, and
// its rows are stored. Leave does not wait; Stop does.
func (m *Member) Leave() { m.stop() }

// Stop lets the member leave and waits until it has.
func (m *Member) Stop() {
	m.c.t.Helper()
	if err := m.end(); err != nil {
		m.c.t.Errorf("a member stopped: %v", err)
	}
}

// end stops the host and waits for its end. It may be called several times, so it puts the error
// back.
func (m *Member) end() error {
	m.stop()
	err := <-m.ended
	m.ended <- err
	return err
}

// Kill cuts the member's connection forever: to the others it has died, and its session
// ends at the time-out.
func (m *Member) Kill() {
	m.dead = true
	m.proxy.Set(zktest.Refuse)
}

// Forsake ends the host of a killed member. Only now does the host notice that its
// session is over.
func (m *Member) Forsake() {
	m.stop()
	m.proxy.Set(zktest.Pass)
	_ = m.end() // others have taken over what it could not store
}

// Cut ends the member's connection; the member can connect again.
func (m *Member) Cut() { m.proxy.Cut() }

// Freeze holds back everything between the member and the service until Thaw. It must be
// short compared with the member's session.
func (m *Member) Freeze() { m.proxy.Set(zktest.Freeze) }

// Thaw ends Freeze.
func (m *Member) Thaw() { m.proxy.Set(zktest.Pass) }
