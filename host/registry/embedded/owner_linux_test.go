package embedded

import (
	"os"
	"os/exec"
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
	writeInto(t, name)
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

// Root without the right to give files away, as in some containers, can use a directory of another user.
func TestRootWithoutTheRightToGiveFilesAway(t *testing.T) {
	t.Parallel()
	const child = "WASMJOBD_TEST_WITHOUT_CHOWN"
	if os.Getenv(child) != "" { // the process below, in the directory
		writeInto(t, ".")
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("left out: only root gives a file to another user")
	}
	name := t.TempDir()
	if err := os.Chown(name, 4711, 4712); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "setpriv", "--bounding-set=-chown", "--inh-caps=-chown", os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Dir, c.Env = name, append(os.Environ(), child+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(filepath.Join(name, "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	if of, ok := info.Sys().(*syscall.Stat_t); !ok || of.Uid != 0 {
		t.Errorf("the process had the right: the lock belongs to %d", of.Uid)
	}
}

// writeInto writes a node into the registry of a directory.
func writeInto(t *testing.T, name string) {
	t.Helper()
	r, err := Open(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, openSession(t, r), registry.Op{Kind: registry.Create, Path: "/a"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
