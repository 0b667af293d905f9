package reach

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wasmjob/wasmjob/host/job"
)

// A private directory, or a part of it, may be mounted somewhere else as well.
func TestMounts(t *testing.T) {
	t.Parallel()
	top, own := place(t)
	guard := NewGuard(own)
	for from, deeper := range map[string]string{"srv/data": "registry", "srv/data/registry": ".", "srv": "data"} {
		at := filepath.Join(top, "mounted", filepath.Base(from))
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(filepath.Join(top, from), at, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("left out: directories cannot be mounted here: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		for _, dir := range []string{at, filepath.Join(at, deeper)} {
			if Find(own, job.Dir{Host: dir}) == nil {
				t.Errorf("%s, mounted, can be granted", from)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := guard.Check(root, false); err == nil {
				t.Errorf("%s, mounted, can be opened", from)
			}
			_ = root.Close()
		}
	}
}
