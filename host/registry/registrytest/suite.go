// Package registrytest tests adapters of the registry port: Run is the conformance suite that
// each must pass, and Faulty makes a working registry unreliable for the tests of its callers.
// It is not for production code.
//
// Flow: an adapter's test calls Run with a function that opens it. Every subtest opens the
// registry anew and works below a root of its own, which it deletes at the end, so subtests may
// share the service with others.
package registrytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// patience ends a subtest that waits for something that never comes. No result depends on it.
const patience = time.Minute

// Run checks that the registry returned by open keeps the promises of the port. open is called
// once for each subtest and may arrange more with t.Cleanup. Run closes the returned registry.
func Run(t *testing.T, open func(t *testing.T) registry.Registry) {
	t.Helper()
	groups := []struct {
		name  string
		tests []subtest
	}{
		{"write", writeTests},
		{"refuse", refuseTests},
		{"follow", followTests},
		{"view", viewTests},
		{"session", sessionTests},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newFixture(t, open(t)))
				})
			}
		})
	}
}

type subtest struct {
	name string
	run  func(f *fixture)
}

// fixture holds the registry, root and session of a subtest.
type fixture struct {
	*testing.T
	ctx      context.Context
	registry registry.Registry
	root     string
	main     *member
}

// newFixture opens a session, and creates a root that no other subtest has, even if it shares the
// service.
func newFixture(t *testing.T, r registry.Registry) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	f := &fixture{T: t, ctx: ctx, registry: r}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close registry: %v", err)
		}
	})
	f.main = f.join()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	f.root = fmt.Sprintf("/%s-%d", name, time.Now().UnixNano())
	f.main.commit(create(f.root, ""))
	t.Cleanup(func() { f.removeAll() })
	return f
}

// removeAll deletes the root with everything below it, in a session of its own.
func (f *fixture) removeAll() {
	s, err := f.registry.Open(f.ctx, func(registry.Event) {})
	if err != nil {
		return // the subtest closed the registry
	}
	if err := errors.Join(removeBelow(f.ctx, s, f.root), s.Close()); err != nil {
		f.Errorf("clean up: %v", err)
	}
}

// removeBelow deletes a node with all below it. A node that is gone already is no error.
func removeBelow(ctx context.Context, s registry.Session, path string) error {
	n, err := s.Read(ctx, path)
	if err != nil {
		return err
	}
	for _, name := range n.Children {
		if err := removeBelow(ctx, s, path+"/"+name); err != nil {
			return err
		}
	}
	if _, err := s.Commit(ctx, remove(path)); err != nil && !errors.Is(err, registry.ErrConflict) {
		return err
	}
	return nil
}

func (f *fixture) path(names ...string) string {
	return strings.Join(append([]string{f.root}, names...), "/")
}

// member is a session with all its events. Its methods fail the test.
type member struct {
	f *fixture
	registry.Session

	mu      sync.Mutex // guards the rest
	events  []registry.Event
	changed chan struct{} // closed and replaced with each event
}

// join opens a session whose events are kept.
func (f *fixture) join() *member {
	f.Helper()
	m := &member{f: f, changed: make(chan struct{})}
	s, err := f.registry.Open(f.ctx, m.receive)
	if err != nil {
		f.Fatalf("open session: %v", err)
	}
	m.Session = s
	return m
}

// receive keeps an event, and wakes those that await one.
func (m *member) receive(e registry.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
}

// received returns the events so far.
func (m *member) received() []registry.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

// await returns the events as soon as enough returns true for them.
func (m *member) await(enough func([]registry.Event) bool) []registry.Event {
	m.f.Helper()
	for {
		m.mu.Lock()
		events, changed := slices.Clone(m.events), m.changed
		m.mu.Unlock()
		if enough(events) {
			return events
		}
		select {
		case <-changed:
		case <-m.f.ctx.Done():
			m.f.Fatalf("waited in vain; events so far: %v", events)
		}
	}
}

// receivedSince returns the events after the first n.
func (m *member) receivedSince(n int) []registry.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events[n:])
}

func (m *member) awaitEvent(e registry.Event) []registry.Event {
	m.f.Helper()
	return m.await(func(events []registry.Event) bool { return slices.Contains(events, e) })
}

// commit commits ops; if they are refused, the test fails.
func (m *member) commit(ops ...registry.Op) registry.Receipt {
	m.f.Helper()
	receipt, err := m.Commit(m.f.ctx, ops...)
	if err != nil {
		m.f.Fatalf("commit: %v", err)
	}
	if len(receipt.Results) != len(ops) {
		m.f.Fatalf("%d results for %d ops", len(receipt.Results), len(ops))
	}
	return receipt
}

// read reads a node in the goroutine of the test, which fails if that fails.
func (m *member) read(path string) registry.Node {
	m.f.Helper()
	n, err := m.Read(m.f.ctx, path)
	if err != nil {
		m.f.Fatalf("read: %v", err)
	}
	return n
}

// mayRead reads a node in a goroutine other than the test's.
func (m *member) mayRead(path string) registry.Node {
	n, err := m.Read(m.f.ctx, path)
	if err != nil {
		m.f.Errorf("read: %v", err)
	}
	return n
}

func (m *member) sync() {
	m.f.Helper()
	if err := m.Sync(m.f.ctx); err != nil {
		m.f.Fatalf("sync: %v", err)
	}
}

func (m *member) close() {
	m.f.Helper()
	if err := m.Close(); err != nil {
		m.f.Fatalf("close: %v", err)
	}
}

// goneAt returns the event for a deleted node without earlier unreported changes.
func goneAt(path string) registry.Event {
	return registry.Event{Kind: registry.Changed, Path: path, Changes: 1, Gone: true}
}

func create(path, data string) registry.Op {
	return registry.Op{Kind: registry.Create, Path: path, Data: []byte(data)}
}

func ephemeral(path string) registry.Op {
	return registry.Op{Kind: registry.CreateEphemeral, Path: path}
}

func set(path, data string, version int32) registry.Op {
	return registry.Op{Kind: registry.Set, Path: path, Data: []byte(data), Version: version}
}

func remove(path string) registry.Op {
	return registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion}
}

func check(path string, version int32) registry.Op {
	return registry.Op{Kind: registry.Check, Path: path, Version: version}
}

func absent(path string) registry.Op { return registry.Op{Kind: registry.Absent, Path: path} }
