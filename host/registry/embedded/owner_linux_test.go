package embedded

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
)

// The user of a server can read what root has written into its directory while it was down.
func TestRootWritesForTheOwnerOfTheDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("left out: only root gives a file to another user")
	}
	name := t.TempDir()
	if err := os.Chown(name, 4711, 4712); err != nil {
		t.Fatal(err)
	}
	r, err := Open(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, openSession(t, r), registry.Op{Kind: registry.Create, Path: "/a"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(name)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v: the files are %v, want a lock, a snapshot and a log", err, entries)
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(name, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if of, ok := info.Sys().(*syscall.Stat_t); !ok || of.Uid != 4711 || of.Gid != 4712 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %s and belongs to %d", e.Name(), info.Mode(), of.Uid)
		}
	}
}
