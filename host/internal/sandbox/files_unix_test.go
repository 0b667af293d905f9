//go:build unix

package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j := &jail{ctx: ctx, root: root, open: map[*jailFile]struct{}{}}
	defer j.close()
	for _, name := range []string{"pipe", "topipe", "absolute", "dirlink/secret"} {
		// It must come back at all: nobody writes to the pipe.
		if f, err := j.Open(name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	// What cannot be opened is there all the same, as something that WASI knows.
	top, err := j.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := top.(fs.ReadDirFile).ReadDir(-1)
	at := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "pipe" })
	if err != nil || at < 0 || entries[at].Type() != fs.ModeDevice|fs.ModeCharDevice {
		t.Errorf("the pipe in a list: %v, %v", entries, err)
	}
	if err := top.Close(); err != nil {
		t.Error(err)
	}
	dev, err := os.OpenRoot("/dev")
	if err != nil {
		t.Skip(err)
	}
	d := &jail{ctx: ctx, root: dev, open: map[*jailFile]struct{}{}}
	defer d.close()
	if _, err := d.Open("null"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a device opens: %v", err)
	}
	f, err := j.Open("a.txt")
	if err != nil {
		t.Fatal(err)
	}
	// Once the run is over nothing is read any more.
	buf := make([]byte, 1)
	if _, err := f.Read(buf); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := f.Read(buf); !errors.Is(err, syscall.EINTR) {
		t.Errorf("read after the end: %v", err)
	}
	if _, err := f.(*jailFile).ReadAt(buf, 0); !errors.Is(err, syscall.EINTR) {
		t.Errorf("read after the end: %v", err)
	}
	if _, err := j.Open("a.txt"); !errors.Is(err, syscall.EINTR) {
		t.Errorf("open after the end: %v", err)
	}
	if err := f.Close(); err != nil || len(j.open) != 0 {
		t.Errorf("close: %v, %d open", err, len(j.open))
	}
}
