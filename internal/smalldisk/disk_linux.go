package smalldisk

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// RootOnly skips a test if it may not mount a disk.
func RootOnly(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("left out: a disk of its own takes root to mount")
	}
}

// Mount mounts a disk on a directory. size has the form of a tmpfs size ("1m"). The
// caller must call unmount.
func Mount(dir, size string) (unmount func() error, err error) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		return nil, fmt.Errorf("mount a disk at %s: %w", dir, err)
	}
	return func() error { return syscall.Unmount(dir, syscall.MNT_DETACH) }, nil
}

// Dir returns a directory on its own disk. Both are removed when the test ends.
func Dir(t testing.TB, size string) string {
	t.Helper()
	RootOnly(t)
	dir := t.TempDir()
	unmount, err := Mount(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unmount(); err != nil {
			t.Error(err)
		}
	})
	return dir
}
