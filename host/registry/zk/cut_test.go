package zk_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// TestCut_at_every_step cuts the connection of a session that follows between every two steps
// of the protocol, and then again at every later step. The session is up again each time, and
// its owner misses no change.
func TestCut_at_every_step(t *testing.T) {
	t.Parallel()
	server := serving(t)
	observer := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long, Digest: "user:pass"})
	steps := cutAt(t, server, observer)
	t.Logf("%d steps", steps)
	for first := range steps + 1 { // number 0 stands for no cut
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			steps := cutAt(t, server, observer, first)
			for second := first + 1; second <= steps; second++ {
				cutAt(t, server, observer, first, second)
			}
		})
	}
}

// cutAt returns the number of steps.
func cutAt(t *testing.T, server *zktest.Server, observer *member, numbers ...int) (steps int) {
	t.Helper()
	root := fmt.Sprintf("/cut-%d", numbers)
	c := &cutter{cut: atNumbers(&steps, numbers...)}
	owner := join(t, zk.Options{
		Servers: []string{server.Address()}, SessionTimeout: long, Dial: c.dial, Chroot: root, Digest: "user:pass",
	})
	id := owner.ID()
	for _, path := range []string{"/a", "/b"} {
		owner.follow(path)
	}
	for _, path := range []string{"/a", "/b"} {
		if _, err := observer.Commit(t.Context(), create(root+path)); err != nil {
			t.Fatal(err)
		}
		owner.awaitThere(path)
		c.now()
	}
	c.decide(func(string) bool { return false })
	kinds := owner.awaitUp()
	if len(kinds) == 0 {
		t.Fatalf("cut at %v: no loss is heard", numbers)
	}
	for i, k := range kinds {
		if want := []registry.EventKind{registry.Suspended, registry.Resumed}[i%2]; k != want {
			t.Fatalf("cut at %v: event %d is %v, want %v, of %v", numbers, i, k, want, kinds)
		}
	}
	if owner.ID() != id {
		t.Errorf("cut at %v: session %d, then %d", numbers, id, owner.ID())
	}
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	return steps
}

// awaitThere waits until a node exists. It reads only after an event or a failed read.
func (m *member) awaitThere(path string) {
	m.t.Helper()
	for {
		seen := len(m.received())
		n, err := m.Read(m.ctx, path)
		switch {
		case m.ctx.Err() != nil:
			m.t.Fatalf("%s is not seen; events so far: %+v", path, m.received())
		case err == nil && n.Exists:
			return
		case err == nil:
			m.awaitMore(seen)
		}
	}
}

// awaitUp waits until the session is up after every loss of the connection. It returns the
// events of the connection.
func (m *member) awaitUp() []registry.EventKind {
	m.t.Helper()
	for m.Sync(m.ctx) != nil && m.ctx.Err() == nil { // the last cut may not have been noticed
	}
	for {
		events := m.received()
		var kinds []registry.EventKind
		for _, e := range events {
			if e.Kind != registry.Changed {
				kinds = append(kinds, e.Kind)
			}
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != registry.Suspended {
			return kinds
		}
		if m.awaitMore(len(events)); m.ctx.Err() != nil {
			m.t.Fatalf("not up again: %v", kinds)
		}
	}
}

// conformCut runs the suite while the connection of each session is cut between the steps of
// connecting, following and restoring, and hides that from the suite. The suite changes nothing
// meanwhile, so it misses nothing.
func conformCut(t *testing.T, server *zktest.Server) {
	t.Helper()
	registrytest.Run(t, func(t *testing.T) registry.Registry {
		t.Helper()
		c := &cutter{}
		r := open(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: 20 * time.Second, Dial: c.dial})
		return &cutRegistry{r, t, c}
	})
}

// cutRegistry cuts the newest of its sessions.
type cutRegistry struct {
	*zk.Registry
	t      *testing.T
	cutter *cutter
}

// cutSession hides the events of its connection.
type cutSession struct {
	registry.Session

	mu      sync.Mutex    // guards the fields below
	count   int           // number of hidden events, which are Suspended and Resumed in turn
	changed chan struct{} // closed and replaced with each of them
}

func (r *cutRegistry) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	r.cutter.decide(inTurn("dial", "hello sent",
		"watch sent", "dial", "hello sent", "hello answered", "watch due", "watch sent", "watch answered"))
	s := &cutSession{changed: make(chan struct{})}
	inner, err := r.Registry.Open(ctx, func(e registry.Event) {
		switch {
		case e.Kind == registry.Suspended || e.Kind == registry.Resumed:
			s.hide(r.t, e.Kind)
		case on != nil:
			on(e)
		}
	})
	s.Session = inner
	return s, err
}

func (s *cutSession) hide(t *testing.T, kind registry.EventKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []registry.EventKind{registry.Suspended, registry.Resumed}[s.count%2]; kind != want {
		t.Errorf("event %d of the connection is %v, want %v", s.count, kind, want)
	}
	s.count++
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *cutSession) state() (count int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, s.changed
}

// Follow returns when the session is up after the last cut.
func (s *cutSession) Follow(ctx context.Context, root string) error {
	if err := s.Session.Follow(ctx, root); err != nil {
		return err
	}
	for ctx.Err() == nil {
		before, changed := s.state()
		if before%2 == 1 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		// An unnoticed loss is noticed by the answer.
		err := s.Sync(ctx)
		if after, _ := s.state(); err == nil && after == before {
			return nil
		}
	}
	return ctx.Err()
}
