package mirror_test

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
)

func paths(reads []mirror.Read) []string {
	var p []string
	for _, r := range reads {
		p = append(p, r.Path)
	}
	return p
}

func node(rev int64, children ...string) registry.Node {
	return registry.Node{Exists: true, Children: children, Stat: registry.Stat{Created: 1, Modified: rev, ChildrenChanged: rev}}
}

func children(name string, n registry.Node) []string {
	if name != "d" {
		return nil
	}
	var kids []string
	for _, c := range n.Children {
		kids = append(kids, name+"/"+c)
	}
	return kids
}

func settle(t *testing.T, m *mirror.Mirror, tree map[string]registry.Node) []string {
	t.Helper()
	var read []string
	for !m.Settled() {
		reads := m.Wanted()
		if len(reads) == 0 {
			t.Fatal("not settled, and nothing is wanted")
		}
		for _, r := range reads {
			read = append(read, r.Path)
			m.Reply(r, tree[r.Path])
		}
	}
	return read
}

func changed(m *mirror.Mirror) []string {
	var p []string
	for _, c := range m.Changes() {
		s := "+"
		if !c.Node.Exists {
			s = "-"
		}
		p = append(p, s+c.Path)
	}
	return p
}

func TestMirror(t *testing.T) {
	t.Parallel()
	tree := map[string]registry.Node{"/d": node(1, "a", "b"), "/d/a": node(1), "/d/b": node(1)}

	t.Run("follows children and settles once all are read", func(t *testing.T) {
		t.Parallel()
		m := mirror.New("", []string{"d", "absent"}, children)
		if got := settle(t, m, tree); !slices.Equal(got, []string{"/d", "/absent", "/d/a", "/d/b"}) {
			t.Errorf("read %v", got)
		}
		if got := changed(m); !slices.Equal(got, []string{"+/d", "+/d/a", "+/d/b"}) {
			t.Errorf("changes %v", got)
		}
	})
	t.Run("an event unsettles until the path is read again", func(t *testing.T) {
		t.Parallel()
		m := mirror.New("", []string{"d"}, children)
		settle(t, m, tree)
		m.Changes()
		m.Event(registry.Event{Kind: registry.Changed, Path: "/d/a"})
		if m.Settled() {
			t.Fatal("settled with a dirty path")
		}
		reads := m.Wanted()
		if got := paths(reads); !slices.Equal(got, []string{"/d/a"}) {
			t.Fatalf("wanted %v", got)
		}
		if m.Settled() || len(m.Wanted()) != 0 {
			t.Fatal("settled, or wanted twice, while the read is under way")
		}
		m.Reply(reads[0], node(2))
		if !m.Settled() || !slices.Equal(changed(m), []string{"+/d/a"}) {
			t.Error("not settled on the new node")
		}
	})
	t.Run("an event during the read makes its answer stale", func(t *testing.T) {
		t.Parallel()
		m := mirror.New("", []string{"x"}, children)
		reads := m.Wanted()
		m.Event(registry.Event{Kind: registry.Changed, Path: "/x"})
		m.Reply(reads[0], node(1))
		if m.Settled() {
			t.Fatal("settled on an answer that may be older than the event")
		}
		m.Reply(m.Wanted()[0], node(2))
		if c := m.Changes(); !m.Settled() || len(c) != 1 || c[0].Node.Stat.Modified != 2 {
			t.Errorf("changes %v", c)
		}
	})
	t.Run("a child that left the list is dropped, its late answer ignored", func(t *testing.T) {
		t.Parallel()
		m := mirror.New("", []string{"d"}, children)
		settle(t, m, tree)
		m.Changes()
		m.Event(registry.Event{Kind: registry.Changed, Path: "/d"})
		m.Event(registry.Event{Kind: registry.Changed, Path: "/d/b"})
		reads := m.Wanted()
		m.Reply(reads[0], node(3, "a"))
		if !m.Settled() || !slices.Equal(changed(m), []string{"+/d", "-/d/b"}) {
			t.Error("dropping /d/b did not settle")
		}
		m.Reply(reads[1], node(9))
		if len(m.Changes()) != 0 || !m.Settled() {
			t.Error("the answer to a dropped path counted")
		}
	})
	t.Run("nothing settles while the connection is away, all is read after it", func(t *testing.T) {
		t.Parallel()
		m := mirror.New("", []string{"d"}, children)
		settle(t, m, tree)
		m.Event(registry.Event{Kind: registry.Suspended})
		if m.Settled() || m.Wanted() != nil {
			t.Fatal("a suspended mirror claims to be settled or reads")
		}
		m.Event(registry.Event{Kind: registry.Resumed})
		if got := settle(t, m, tree); !slices.Equal(got, []string{"/d", "/d/a", "/d/b"}) {
			t.Errorf("read %v after the reconnect", got)
		}
	})
	t.Run("a failed read is wanted again", func(t *testing.T) {
		t.Parallel()
		m := mirror.New("", []string{"d"}, children)
		r := m.Wanted()[0]
		m.Failed(r)
		if got := paths(m.Wanted()); !slices.Equal(got, []string{"/d"}) {
			t.Errorf("wanted %v", got)
		}
	})
}
