package zk_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// tick of the servers in these tests; they grant time-outs of 2 to 20 ticks.
	tick = 200 * time.Millisecond
	// brief is for sessions that should expire, long for the others.
	brief = 2 * tick
	long  = 20 * tick
	// patience ends a test that waits for something that never comes.
	patience = time.Minute
)

// member is a session with all its events. Its methods fail the test.
type member struct {
	registry.Session
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex // guards the rest
	events  []registry.Event
	changed chan struct{}
}

func join(t *testing.T, o zk.Options) *member {
	t.Helper()
	r := open(t, o)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return joinIn(t, r)
}

func joinIn(t *testing.T, r registry.Registry) *member {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	m := &member{t: t, ctx: ctx, changed: make(chan struct{})}
	s, err := r.Open(ctx, m.receive)
	if err != nil {
		t.Fatal(err)
	}
	m.Session = s
	return m
}

func (m *member) receive(e registry.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
}

// await returns the events as soon as e is among them.
func (m *member) await(e registry.Event) []registry.Event {
	m.t.Helper()
	for {
		m.mu.Lock()
		events, changed := slices.Clone(m.events), m.changed
		m.mu.Unlock()
		if slices.Contains(events, e) {
			return events
		}
		select {
		case <-changed:
		case <-m.ctx.Done():
			m.t.Fatalf("waited in vain for %+v; events so far: %+v", e, events)
		}
	}
}

func (m *member) awaitKind(k registry.EventKind) []registry.Event {
	m.t.Helper()
	return m.await(registry.Event{Kind: k})
}

// awaitGone waits until a node does not exist.
func (m *member) awaitGone(path string) {
	m.t.Helper()
	m.follow(path)
	for seen := len(m.received()); m.read(path).Exists; seen = m.awaitMore(seen) {
	}
}

// awaitMore waits until there are more than seen events, and returns their number.
func (m *member) awaitMore(seen int) int {
	for {
		m.mu.Lock()
		n, changed := len(m.events), m.changed
		m.mu.Unlock()
		if n > seen {
			return n
		}
		select {
		case <-changed:
		case <-m.ctx.Done():
			return n
		}
	}
}

func (m *member) follow(root string) {
	m.t.Helper()
	if err := m.Follow(m.ctx, root); err != nil {
		m.t.Fatalf("follow: %v", err)
	}
}

func (m *member) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = nil
}

func (m *member) commit(ops ...registry.Op) registry.Receipt {
	m.t.Helper()
	receipt, err := m.Commit(m.ctx, ops...)
	if err != nil {
		m.t.Fatalf("commit: %v", err)
	}
	return receipt
}

func (m *member) read(path string) registry.Node {
	m.t.Helper()
	n, err := m.Read(m.ctx, path)
	if err != nil {
		m.t.Fatalf("read: %v", err)
	}
	return n
}

func (m *member) sync() {
	m.t.Helper()
	if err := m.Sync(m.ctx); err != nil {
		m.t.Fatalf("sync: %v", err)
	}
}

func create(path string) registry.Op { return registry.Op{Kind: registry.Create, Path: path} }

func ephemeral(path string) registry.Op {
	return registry.Op{Kind: registry.CreateEphemeral, Path: path}
}

func set(path, data string) registry.Op {
	return registry.Op{Kind: registry.Set, Path: path, Data: []byte(data), Version: registry.AnyVersion}
}

// behind returns a member whose connection goes through a proxy, and another with a direct
// connection.
func behind(t *testing.T, server *zktest.Server, timeout time.Duration) (*zktest.Proxy, *member, *member) {
	t.Helper()
	p := zktest.NewProxy(t, server.Address())
	owner := join(t, zk.Options{Servers: []string{p.Address()}, SessionTimeout: timeout})
	return p, owner, join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
}

// serving returns a server that the subtests of a test share.
func serving(t *testing.T) *zktest.Server {
	t.Helper()
	return zktest.Start(t, zktest.Debian(t), zktest.Options{Tick: tick})
}

func (m *member) received() []registry.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}
