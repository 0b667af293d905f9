package tree_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

func sample(t testing.TB) *tree.Tree {
	t.Helper()
	tr := tree.New()
	for _, ops := range [][]registry.Op{
		{create("/a", "x"), create("/a/b", ""), ephemeral("/a/e"), sequential("/a/s-")},
		{set("/a", "yy", 0), ephemeral("/f")},
	} {
		if _, _, err := tr.Commit(7, 1<<40, ops); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

func TestDecode_gives_back_what_was_encoded(t *testing.T) {
	t.Parallel()
	tr := sample(t)
	got, err := tree.Decode(tr.Encode(nil, tree.Everything))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dump(tr), dump(got), cmp.Comparer(bytes.Equal)); diff != "" {
		t.Error(diff)
	}
	if got.Revision() != 2 || !slices.Equal(got.Ephemerals(7), []string{"/a/e", "/f"}) {
		t.Errorf("revision %d, ephemerals %v", got.Revision(), got.Ephemerals(7))
	}
}

func TestEncode_persistent_is_the_tree_after_its_sessions(t *testing.T) {
	t.Parallel()
	tr := sample(t)
	got, err := tree.Decode(tr.Encode(nil, tree.Persistent))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Owners()) > 0 || got.Get("/f").Exists {
		t.Errorf("ephemeral nodes left: %v", got.Owners())
	}
	a := got.Get("/a")
	if !slices.Equal(a.Children, []string{"b", "s-0000000002"}) || a.Stat.ChildVersion != 4 {
		t.Errorf("%+v", a)
	}
	receipt, _ := must(t, got, sequential("/a/s-"))
	if name := receipt.Results[0].Path; name != "/a/s-0000000003" {
		t.Errorf("next sequential node %s", name)
	}
}

func TestDecode_refuses_every_prefix(t *testing.T) {
	t.Parallel()
	b := sample(t).Encode(nil, tree.Everything)
	for i := range b {
		if _, err := tree.Decode(b[:i]); err == nil {
			t.Errorf("accepted the first %d of %d bytes", i, len(b))
		}
	}
	if _, err := tree.Decode(append(slices.Clone(b), 0)); err == nil {
		t.Error("accepted a byte too many")
	}
}

// FuzzDecode wants that what is accepted is a tree: it encodes to bytes that
// decode to the same, and takes transactions.
func FuzzDecode(f *testing.F) {
	f.Add(sample(f).Encode(nil, tree.Everything))
	f.Add(sample(f).Encode(nil, tree.Persistent))
	f.Add(tree.New().Encode(nil, tree.Everything))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := tree.Decode(b)
		if err != nil {
			return
		}
		once := tr.Encode(nil, tree.Everything)
		again, err := tree.Decode(once)
		if err != nil {
			t.Fatalf("decode of own encoding: %v", err)
		}
		if !bytes.Equal(once, again.Encode(nil, tree.Everything)) {
			t.Fatal("encoding changes")
		}
		for _, owner := range again.Owners() {
			again.EndSession(owner, 0)
		}
		if !bytes.Equal(encodeBody(again, tree.Everything), encodeBody(again, tree.Persistent)) {
			t.Fatal("ephemeral nodes outlive their sessions")
		}
	})
}

func encodeBody(tr *tree.Tree, which tree.Content) []byte { return tr.Encode(nil, which) }
