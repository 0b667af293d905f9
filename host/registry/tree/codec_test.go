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
	got, err := tree.Decode(tr.Encode(nil))
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

func TestDecode_refuses_every_prefix(t *testing.T) {
	t.Parallel()
	b := sample(t).Encode(nil)
	for i := range b {
		if _, err := tree.Decode(b[:i]); err == nil {
			t.Errorf("accepted the first %d of %d bytes", i, len(b))
		}
	}
	if _, err := tree.Decode(append(slices.Clone(b), 0)); err == nil {
		t.Error("accepted a byte too many")
	}
}

// FuzzDecode checks that accepted input is a tree: it encodes to bytes that decode to the same
// tree, and accepts transactions.
func FuzzDecode(f *testing.F) {
	f.Add(sample(f).Encode(nil))
	f.Add(tree.New().Encode(nil))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := tree.Decode(b)
		if err != nil {
			return
		}
		once := tr.Encode(nil)
		again, err := tree.Decode(once)
		if err != nil {
			t.Fatalf("decode of own encoding: %v", err)
		}
		if !bytes.Equal(once, again.Encode(nil)) {
			t.Fatal("encoding changes")
		}
	})
}
