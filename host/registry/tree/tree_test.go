package tree_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

func create(path, data string) registry.Op {
	return registry.Op{Kind: registry.Create, Path: path, Data: []byte(data)}
}

func ephemeral(path string) registry.Op {
	return registry.Op{Kind: registry.CreateEphemeral, Path: path}
}

func sequential(path string) registry.Op {
	return registry.Op{Kind: registry.CreateSequential, Path: path}
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

// must commits ops for session 1 and fails the test if they are refused.
func must(t *testing.T, tr *tree.Tree, ops ...registry.Op) (registry.Receipt, []tree.Change) {
	t.Helper()
	receipt, changes, err := tr.Commit(1, 1000*(tr.Revision()+1), ops)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return receipt, changes
}

// dump returns the whole tree as one comparable value.
func dump(tr *tree.Tree) map[string]registry.Node {
	nodes := map[string]registry.Node{}
	tr.Walk("/", func(path string, n registry.Node) bool {
		nodes[path] = n
		return true
	})
	return nodes
}

func TestCommit_stats(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/a", "x"))
	must(t, tr, create("/a/b", ""), ephemeral("/a/c"))
	receipt, _ := must(t, tr, set("/a", "y", 0), set("/a", "z", 1))
	must(t, tr, remove("/a/b"))

	if receipt.Revision != 3 || receipt.Results[0].Version != 1 || receipt.Results[1].Version != 2 {
		t.Errorf("receipt of the set: %+v", receipt)
	}
	a := tr.Get("/a")
	want := registry.Stat{
		Created: 1, Modified: 3, ChildrenChanged: 4,
		Version: 2, ChildVersion: 3, ModifiedAt: a.Stat.ModifiedAt,
	}
	if diff := cmp.Diff(want, a.Stat); diff != "" {
		t.Error(diff)
	}
	if got := a.Stat.ModifiedAt.UnixMilli(); got != 3000 {
		t.Errorf("modified at %d", got)
	}
	if !slices.Equal(a.Children, []string{"c"}) || string(a.Data) != "z" {
		t.Errorf("node: %+v", a)
	}
	if owner := tr.Get("/a/c").Stat.Owner; owner != 1 {
		t.Errorf("owner %d", owner)
	}
	must(t, tr, remove("/a/c"), remove("/a"), create("/a", ""))
	if v := tr.Get("/a").Stat; v.Version != 0 || v.ChildVersion != 0 || v.Created != 5 {
		t.Errorf("re-created: %+v", v)
	}
}

func TestCommit_refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		ops    []registry.Op
		index  int
		reason registry.Reason
	}{
		{"create existing", []registry.Op{create("/p", "")}, 0, registry.NodeExists},
		{"create the root", []registry.Op{create("/", "")}, 0, registry.NodeExists},
		{"create twice", []registry.Op{create("/n", ""), create("/n", "")}, 1, registry.NodeExists},
		{"create without parent", []registry.Op{create("/no/n", "")}, 0, registry.NoParent},
		{"sequential without parent", []registry.Op{sequential("/no/n-")}, 0, registry.NoParent},
		{"create below ephemeral", []registry.Op{create("/e/n", "")}, 0, registry.EphemeralParent},
		{"sequential below ephemeral", []registry.Op{sequential("/e/")}, 0, registry.EphemeralParent},
		{"set absent", []registry.Op{set("/no", "", 0)}, 0, registry.NoNode},
		{"set old version", []registry.Op{set("/p", "", 7)}, 0, registry.BadVersion},
		{"second set with first version", []registry.Op{set("/p", "", 0), set("/p", "", 0)}, 1, registry.BadVersion},
		{"delete absent", []registry.Op{remove("/no")}, 0, registry.NoNode},
		{"delete parent", []registry.Op{remove("/p")}, 0, registry.NotEmpty},
		{"delete the root", []registry.Op{remove("/")}, 0, registry.BadPath},
		{"check absent", []registry.Op{check("/no", registry.AnyVersion)}, 0, registry.NoNode},
		{"check version", []registry.Op{check("/p", 1)}, 0, registry.BadVersion},
		{"absent existing", []registry.Op{absent("/p")}, 0, registry.NodeExists},
		{"absent of own create", []registry.Op{create("/n", ""), absent("/n")}, 1, registry.NodeExists},
		{"relative", []registry.Op{create("n", "")}, 0, registry.BadPath},
		{"empty", []registry.Op{check("", 0)}, 0, registry.BadPath},
		{"trailing slash", []registry.Op{create("/n/", "")}, 0, registry.BadPath},
		{"double slash", []registry.Op{create("/p//n", "")}, 0, registry.BadPath},
		{"dot", []registry.Op{create("/p/.", "")}, 0, registry.BadPath},
		{"dot dot", []registry.Op{create("/p/..", "")}, 0, registry.BadPath},
		{"dot dot inside", []registry.Op{create("/p/../n", "")}, 0, registry.BadPath},
		{"control character", []registry.Op{create("/n\x01", "")}, 0, registry.BadPath},
		{"zero byte", []registry.Op{absent("/n\x00")}, 0, registry.BadPath},
		{"not UTF-8", []registry.Op{create("/n\xff", "")}, 0, registry.BadPath},
		{"private use", []registry.Op{create("/é/\ue000", "")}, 0, registry.BadPath},
		{"dot after non-ASCII", []registry.Op{create("/é/./x", "")}, 0, registry.BadPath},
		{"too long", []registry.Op{create("/"+strings.Repeat("n", 8<<10), "")}, 0, registry.BadPath},
		{"no such kind", []registry.Op{create("/n", ""), {Kind: 99, Path: "/n"}}, 1, 0xff},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tr := tree.New()
			must(t, tr, create("/p", "x"), create("/p/c", ""), ephemeral("/e"))
			before := dump(tr)
			ops := append([]registry.Op{set("/p/c", "seen", 0), sequential("/p/s-"), remove("/e"), ephemeral("/e")}, test.ops...)
			_, changes, err := tr.Commit(2, 9, ops)
			var conflict *registry.ConflictError
			if !errors.As(err, &conflict) || !errors.Is(err, registry.ErrConflict) {
				t.Fatalf("error %v", err)
			}
			if conflict.Index != test.index+4 || conflict.Reason != test.reason || conflict.Op.Path != test.ops[test.index].Path {
				t.Errorf("conflict %+v", conflict)
			}
			if len(changes) > 0 || tr.Revision() != 1 {
				t.Errorf("changes %v, revision %d", changes, tr.Revision())
			}
			if diff := cmp.Diff(before, dump(tr)); diff != "" {
				t.Error(diff)
			}
			if got := tr.Ephemerals(1); !slices.Equal(got, []string{"/e"}) || len(tr.Ephemerals(2)) > 0 {
				t.Errorf("ephemerals %v", got)
			}
		})
	}
}

func TestCommit_accepts_names_beyond_ASCII(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/作业", ""), create("/作业/é 1", ""), create("/a.b", ""), create("/...", ""))
}

// ZooKeeper numbers sequential nodes by the creates below the parent, of any kind; deletes
// raise only the child version that a reader sees.
func TestSequential_counts_every_create_and_no_delete(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/q", ""))
	receipt, _ := must(t, tr, sequential("/q/n-"), sequential("/q/"), create("/q/x", ""), remove("/q/x"), sequential("/q/n-"))
	var names []string
	for _, r := range receipt.Results {
		names = append(names, r.Path)
	}
	want := []string{"/q/n-0000000000", "/q/0000000001", "/q/x", "/q/x", "/q/n-0000000003"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	q := tr.Get("/q")
	if q.Stat.ChildVersion != 5 {
		t.Errorf("child version %d", q.Stat.ChildVersion)
	}
	if want := []string{"0000000001", "n-0000000000", "n-0000000003"}; !slices.Equal(q.Children, want) {
		t.Errorf("children %v", q.Children)
	}
	must(t, tr, create("/q/n-0000000005", ""))
	if _, _, err := tr.Commit(1, 0, []registry.Op{sequential("/q/n-")}); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("a taken name: %v", err)
	}
}

func TestCommit_changes_are_in_the_order_of_the_ops(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/a", ""))
	_, changes := must(t, tr, create("/a/b", "1"), set("/a/b", "2", 0), create("/a/c", ""), remove("/a/c"), set("/a", "x", 0), check("/a", 1))
	type row struct {
		path string
		kind tree.ChangeKind
		data string
		here bool
	}
	var got []row
	for _, c := range changes {
		got = append(got, row{c.Path, c.Kind, string(c.Node.Data), c.Node.Exists})
	}
	want := []row{
		{"/a/b", tree.Created, "2", true},
		{"/a", tree.ChildrenChanged, "x", true},
		{"/a/b", tree.DataSet, "2", true},
		{"/a/c", tree.Created, "", false},
		{"/a/c", tree.Deleted, "", false},
		{"/a", tree.DataSet, "x", true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if kids := changes[1].Node.Children; !slices.Equal(kids, []string{"b"}) {
		t.Errorf("children %v", kids)
	}
}

func TestEndSession_deletes_its_ephemerals_in_one_transaction(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/a", ""), ephemeral("/a/y"), ephemeral("/a/x"))
	if _, _, err := tr.Commit(2, 0, []registry.Op{ephemeral("/a/z")}); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range tr.EndSession(1, 0) {
		paths = append(paths, c.Path)
	}
	if want := []string{"/a/x", "/a", "/a/y"}; !slices.Equal(paths, want) {
		t.Errorf("changes %v", paths)
	}
	a := tr.Get("/a")
	if !slices.Equal(a.Children, []string{"z"}) || a.Stat.ChildrenChanged != 3 || tr.Revision() != 3 {
		t.Errorf("%+v at %d", a, tr.Revision())
	}
	if changes := tr.EndSession(1, 0); len(changes) > 0 || tr.Revision() != 4 {
		t.Errorf("second end: %v at %d", changes, tr.Revision())
	}
	if owners := tr.Owners(); !slices.Equal(owners, []registry.SessionID{2}) {
		t.Errorf("owners %v", owners)
	}
}

func TestGet_is_a_snapshot(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/a", "1"), create("/a/m", ""))
	before := tr.Get("/a")
	must(t, tr, set("/a", "2", 0), create("/a/b", ""), create("/a/z", ""), remove("/a/m"))
	if string(before.Data) != "1" || !slices.Equal(before.Children, []string{"m"}) {
		t.Errorf("changed under the reader: %+v", before)
	}
	// Appending to a result must not change the tree either.
	_ = append(tr.Get("/a").Children, "smuggled")
	must(t, tr, create("/a/c", ""))
	if got := tr.Get("/a").Children; !slices.Equal(got, []string{"b", "c", "z"}) {
		t.Errorf("children %v", got)
	}
	if tr.Get("/none").Exists {
		t.Error("a node out of nothing")
	}
}

func TestUndo_takes_the_last_transaction_back(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/a", "1"), ephemeral("/a/e"), create("/a/k", ""))
	before := dump(tr)
	undo := func(name string) {
		t.Helper()
		tr.Undo()
		if diff := cmp.Diff(before, dump(tr)); diff != "" || tr.Revision() != 1 {
			t.Errorf("%s: revision %d %s", name, tr.Revision(), diff)
		}
	}
	must(t, tr, set("/a", "2", 0), remove("/a/k"), remove("/a/e"), remove("/a"), create("/a", ""), ephemeral("/a/f"))
	undo("commit")
	tr.EndSession(1, 0)
	undo("end")
	if got := tr.Ephemerals(1); !slices.Equal(got, []string{"/a/e"}) {
		t.Errorf("ephemerals %v", got)
	}
}

// A parent whose children come and go unread must not remember each of them, and an undo after
// a read must restore the names.
func TestApply_without_reads(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	apply := func(ops ...registry.Op) []tree.Change {
		t.Helper()
		_, changes, err := tr.Apply(1, 0, ops)
		if err != nil {
			t.Fatal(err)
		}
		return changes
	}
	if changes := apply(create("/a", "x"), create("/a/z", "")); len(changes) != 4 || changes[0].Node.Exists {
		t.Errorf("changes %+v", changes)
	}
	for i := range 1000 {
		apply(ephemeral(fmt.Sprintf("/a/%d", i)))
		if i > 2 {
			apply(remove(fmt.Sprintf("/a/%d", i)))
		}
	}
	apply(create("/a/b", ""), create("/a/A", ""))
	want := []string{"0", "1", "2", "A", "b", "z"}
	apply(create("/a/0-", ""), create("/a/x", ""), remove("/a/z"))
	if got := tr.Get("/a").Children; !slices.Equal(got, []string{"0", "0-", "1", "2", "A", "b", "x"}) {
		t.Errorf("children %v", got)
	}
	tr.Undo()
	if got := tr.Get("/a").Children; !slices.Equal(got, want) {
		t.Errorf("children %v", got)
	}
}

func TestWalk_stops_when_asked(t *testing.T) {
	t.Parallel()
	tr := tree.New()
	must(t, tr, create("/b", ""), create("/a", ""), create("/a/x", ""), create("/a-", ""))
	var seen []string
	tr.Walk("/", func(path string, _ registry.Node) bool {
		seen = append(seen, path)
		return path != "/a/x"
	})
	if want := []string{"/", "/a", "/a/x"}; !slices.Equal(seen, want) {
		t.Errorf("walked %v", seen)
	}
	tr.Walk("/none", func(string, registry.Node) bool { t.Error("called"); return true })
}

// TestRandom compares the tree with a slow model that keeps complete copies.
func TestRandom_against_a_plain_model(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tr, m := tree.New(), newModel()
		for step := range 60 {
			owner := registry.SessionID(1 + rng.IntN(3))
			if rng.IntN(12) == 0 {
				tr.EndSession(owner, 0)
				m.end(owner)
			} else {
				ops := randomOps(rng)
				transact := tr.Commit
				if rng.IntN(2) == 0 {
					transact = tr.Apply
				}
				_, _, err := transact(owner, int64(step), ops)
				index, reason := m.commit(owner, ops)
				var conflict *registry.ConflictError
				if errors.As(err, &conflict) != (reason != 0) ||
					conflict != nil && (conflict.Index != index || conflict.Reason != reason) {
					t.Fatalf("seed %d step %d: %v, model: op %d %v", seed, step, err, index, reason)
				}
			}
			if rng.IntN(20) == 0 {
				again, err := tree.Decode(tr.Encode(nil))
				if err != nil {
					t.Fatalf("seed %d step %d: %v", seed, step, err)
				}
				tr = again
			}
			if rng.IntN(3) > 0 {
				continue // lists of children are merged later
			}
			if diff := cmp.Diff(m.text(), text(tr)); diff != "" {
				t.Fatalf("seed %d step %d: %s", seed, step, diff)
			}
		}
	}
}

func randomOps(rng *rand.Rand) []registry.Op {
	names := []string{"/a", "/b", "/a/x", "/a/y", "/a/x/m", "/a/x/n", "/b/é", "/a/x/m/q"}
	ops := make([]registry.Op, 1+rng.IntN(5))
	for i := range ops {
		ops[i] = registry.Op{
			Kind:    registry.OpKind(1 + rng.IntN(int(registry.Absent))),
			Path:    names[rng.IntN(len(names))],
			Data:    []byte{byte('a' + rng.IntN(26))},
			Version: int32(rng.IntN(4)) - 1,
		}
		if rng.IntN(2) == 0 {
			ops[i].Version = registry.AnyVersion
		}
	}
	return ops
}

func text(tr *tree.Tree) string {
	var b strings.Builder
	tr.Walk("/", func(path string, n registry.Node) bool {
		s := n.Stat
		fmt.Fprintf(&b, "%s=%s owner %d c%d m%d p%d v%d cv%d %v\n", path, n.Data, s.Owner,
			s.Created, s.Modified, s.ChildrenChanged, s.Version, s.ChildVersion, n.Children)
		return true
	})
	return b.String()
}
