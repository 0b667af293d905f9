package mirror_test

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
)

func TestOnce(t *testing.T) {
	t.Parallel()
	tree := map[string]registry.Node{"/d": node(1, "a"), "/d/a": node(1), "/e": node(2)}
	begin := func() *mirror.Mirror {
		m := mirror.New("", []string{"d"}, children)
		settle(t, m, tree)
		m.Changes()
		m.Once("e")
		return m
	}

	t.Run("reads the node, and forgets it", func(t *testing.T) {
		t.Parallel()
		m := begin()
		if m.Settled() {
			t.Error("settled before the answer")
		}
		if got := settle(t, m, tree); !slices.Equal(got, []string{"/e"}) {
			t.Errorf("read %v", got)
		}
		if got := changed(m); !slices.Equal(got, []string{"+/e"}) {
			t.Errorf("changes %v", got)
		}
		m.Event(registry.Event{Kind: registry.Changed, Path: "/e", Changes: 1})
		if !m.Settled() {
			t.Error("the node is followed")
		}
		m.Once("e")
		if got := settle(t, m, tree); !slices.Equal(got, []string{"/e"}) {
			t.Errorf("asked once more, read %v", got)
		}
	})
	t.Run("reads again what failed, or changed meanwhile", func(t *testing.T) {
		t.Parallel()
		m := begin()
		m.Failed(m.Wanted()[0])
		reads := m.Wanted()
		m.Event(registry.Event{Kind: registry.Changed, Path: "/e"})
		m.Reply(reads[0], tree["/e"])
		if got := settle(t, m, tree); !slices.Equal(got, []string{"/e"}) {
			t.Errorf("read %v", got)
		}
	})
	t.Run("takes a node that is not there", func(t *testing.T) {
		t.Parallel()
		m := begin()
		m.Reply(m.Wanted()[0], registry.Node{})
		if got := changed(m); !m.Settled() || len(got) > 0 {
			t.Errorf("settled %v, changes %v", m.Settled(), got)
		}
	})
	t.Run("leaves a node that is followed to its events", func(t *testing.T) {
		t.Parallel()
		m := begin()
		settle(t, m, tree)
		m.Once("d/a")
		if !m.Settled() {
			t.Error("it is read")
		}
	})
}
