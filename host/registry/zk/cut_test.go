package zk_test

import (
	"fmt"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// TestCut_at_every_step cuts the connection of a session that follows between
// every two steps of the protocol, and then once more at every later step. The
// session comes up again each time, and its owner misses no change.
func TestCut_at_every_step(t *testing.T) {
	t.Parallel()
	server := serving(t)
	witness := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long})
	witness.commit(create("/cut"))
	steps := cutAt(t, server, witness)
	t.Logf("%d steps", steps)
	for first := range steps + 1 { // none is the zeroth
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			steps := cutAt(t, server, witness, first)
			for second := first + 1; second <= steps; second++ {
				cutAt(t, server, witness, first, second)
			}
		})
	}
}

// cutAt returns how many steps there were.
func cutAt(t *testing.T, server *zktest.Server, witness *member, numbers ...int) (steps int) {
	t.Helper()
	root := fmt.Sprintf("/cut/%d", numbers)
	a, b := root+"/a", root+"/b"
	if _, err := witness.Commit(t.Context(), create(root), create(a), create(b)); err != nil {
		t.Fatal(err)
	}
	c := &cutter{cut: atNumbers(&steps, numbers...)}
	owner := join(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: long, Dial: c.dial})
	id := owner.ID()
	owner.follow(a)
	owner.follow(b)
	for _, path := range []string{a, b} {
		if _, err := witness.Commit(t.Context(), create(path+"/k")); err != nil {
			t.Fatal(err)
		}
		owner.awaitThere(path + "/k")
		c.now()
	}
	c.decide(func(string) bool { return false })
	kinds := owner.awaitUp()
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

// awaitThere reads only when an event says so, or a read failed.
func (m *member) awaitThere(path string) {
	m.t.Helper()
	for {
		seen := len(m.heard())
		n, err := m.Read(m.ctx, path)
		switch {
		case m.ctx.Err() != nil:
			m.t.Fatalf("%s is not seen; events so far: %+v", path, m.heard())
		case err == nil && n.Exists:
			return
		case err == nil:
			m.awaitMore(seen)
		}
	}
}

// awaitUp waits until every loss of the connection is made good. It returns the
// events of the connection.
func (m *member) awaitUp() []registry.EventKind {
	m.t.Helper()
	for m.Sync(m.ctx) != nil && m.ctx.Err() == nil { // the last cut may not have been noticed
	}
	for {
		events := m.heard()
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
