//go:build unix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestJailOpensPlainFilesOnly(t *testing.T) {
	t.Parallel()
	inside, _ := playground(t)
	if err := syscall.Mkfifo(filepath.Join(inside, "pipe"), 0o644); err != nil {
		t.Skip("cannot make a pipe:", err)
	}
	if err := os.Symlink("pipe", filepath.Join(inside, "topipe")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	j := &jail{root: root, open: map[*jailFile]struct{}{}}
	defer j.close()
	for _, name := range []string{"pipe", "topipe", "absolute", "dirlink/secret"} {
		// It must come back at all: nobody writes to the pipe.
		if f, err := j.Open(name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	dev, err := os.OpenRoot("/dev")
	if err != nil {
		t.Skip(err)
	}
	d := &jail{root: dev, open: map[*jailFile]struct{}{}}
	defer d.close()
	if _, err := d.Open("null"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a device opens: %v", err)
	}
	f, err := j.Open("a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil || len(j.open) != 0 {
		t.Errorf("close: %v, %d open", err, len(j.open))
	}
}
