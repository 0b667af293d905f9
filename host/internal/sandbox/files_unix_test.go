//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	wasi "github.com/tetratelabs/wazero/experimental/sys"
)

// openRootDir returns dir as a rootDir, outside an instance.
func openRootDir(t *testing.T, dir string, write bool) (*rootDir, context.CancelFunc) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	j := &rootDir{fileTable: &fileTable{ctx: ctx, limit: 8, open: map[*openFile]struct{}{}, claim: func(uint64) bool { return true }}, root: root, write: write}
	t.Cleanup(func() {
		for f := range j.open {
			_ = f.f.Close()
		}
		_ = root.Close()
	})
	return j, cancel
}

// dirsWithLinks is a playground with everything that could lead outside.
func dirsWithLinks(t *testing.T) (inside, outside string) {
	t.Helper()
	inside, outside = playground(t)
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(inside, "pipe"), 0o644),
		os.Symlink("pipe", filepath.Join(inside, "topipe")),
		os.Symlink("../out/new", filepath.Join(inside, "dangling")),
		os.Symlink(filepath.Join(outside, "new"), filepath.Join(inside, "danglingabs")),
		os.Symlink("/proc/self/fd", filepath.Join(inside, "fds")),
		os.Symlink("/proc/self/root", filepath.Join(inside, "slash")),
		os.Symlink("/dev/null", filepath.Join(inside, "null")),
		os.Symlink("sub/../../out/secret", filepath.Join(inside, "winding")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return inside, outside
}

const everyFlag = wasi.O_CREAT | wasi.O_EXCL | wasi.O_TRUNC | wasi.O_APPEND | wasi.O_DIRECTORY | wasi.O_RDWR | wasi.O_NOFOLLOW

// No name and no flags open anything outside, or anything but a file or directory.
func TestRootDirDoesNotOpenOutside(t *testing.T) {
	t.Parallel()
	inside, outside := dirsWithLinks(t)
	names := []string{
		"..", "../out/secret", "/..", "//../out", "sub/../../out/secret", "./../out", "pipe", "topipe", "absolute", "relative", "dirlink", "dirlink/secret",
		"dirlink/new", "dangling", "danglingabs", "fds/0", "fds", "slash/etc/passwd", "null", "winding", "loop", "loop/x", "a.txt/..", "a.txt/x", "",
		outside, filepath.Join(outside, "secret"), "nul\x00", strings.Repeat("x/", 5000), strings.Repeat("x", 300),
	}
	for _, write := range []bool{false, true} {
		j, _ := openRootDir(t, inside, write)
		for _, name := range names {
			for flag := wasi.Oflag(0); flag <= everyFlag; flag++ {
				if flag&^everyFlag != 0 || name == "a.txt/.." || name == "" {
					continue
				}
				// The call must return: the pipe has no other end.
				if f, errno := j.OpenFile(name, flag, 0); errno == 0 {
					t.Errorf("%q with %x opens: %v", name, flag, f)
				}
			}
			for what, errno := range map[string]wasi.Errno{
				"mkdir": j.Mkdir(name+"/new", 0), "rename to": j.Rename("a.txt", name+"/a.txt"), "rename from": j.Rename(name+"/secret", "stolen"),
				"link": j.Link("a.txt", name+"/hard"), "link from": j.Link(name, "hard"), "symlink": j.Symlink("a.txt", name+"/soft"), "symlink to": j.Symlink(name, "soft"),
				"utimens": j.Utimens(name+"/secret", 1, 1), "unlink": j.Unlink(name + "/secret"), "rmdir": j.Rmdir(name + "/"),
			} {
				if errno == 0 && name != "" && name != "a.txt/.." {
					t.Errorf("%s %q works", what, name)
				}
			}
			if st, errno := j.Stat(name + "/secret"); errno == 0 {
				t.Errorf("stat %q: %v", name, st)
			}
		}
	}
	entries, err := os.ReadDir(outside)
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); err != nil || len(entries) != 1 || string(b) != "secret" {
		t.Errorf("outside there is %v, %q, %v", entries, b, err)
	}
}

// A read-only directory offers no way to change anything.
func TestRootDirOnlyReads(t *testing.T) {
	t.Parallel()
	inside, _ := playground(t)
	j, _ := openRootDir(t, inside, false)
	for _, flag := range []wasi.Oflag{wasi.O_RDWR, wasi.O_WRONLY, wasi.O_CREAT, wasi.O_TRUNC, wasi.O_APPEND} {
		if _, errno := j.OpenFile("a.txt", flag, 0); errno != wasi.EROFS {
			t.Errorf("open with %x: %v", flag, errno)
		}
	}
	f, errno := j.OpenFile("a.txt", 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	_, write := f.Write([]byte("x"))
	_, pwrite := f.Pwrite([]byte("x"), 0)
	for what, errno := range map[string]wasi.Errno{
		"write": write, "pwrite": pwrite, "truncate": f.Truncate(0), "futimens": f.Utimens(1, 1), "append": f.SetAppend(true),
		"mkdir": j.Mkdir("new", 0), "rmdir": j.Rmdir("sub"), "unlink": j.Unlink("a.txt"), "rename": j.Rename("a.txt", "b"), "utimens": j.Utimens("a.txt", 1, 1),
		"link": j.Link("a.txt", "b"), "symlink": j.Symlink("a.txt", "b"), "chmod": j.Chmod("a.txt", 0o777),
	} {
		if errno == 0 {
			t.Errorf("%s works", what)
		}
	}
	if f.Sync() != 0 || f.Close() != 0 || f.Close() != 0 || len(j.open) != 0 {
		t.Errorf("close: %d open", len(j.open))
	}
	entries, err := os.ReadDir(inside)
	if b, _ := os.ReadFile(filepath.Join(inside, "a.txt")); err != nil || len(entries) != 7 || string(b) != "aaa" {
		t.Errorf("there is %v, %q, %v", entries, b, err)
	}
}

func TestRootDirWrites(t *testing.T) {
	t.Parallel()
	inside, _ := playground(t)
	j, _ := openRootDir(t, inside, true)
	open := func(name string, flag wasi.Oflag, want wasi.Errno) wasi.File {
		t.Helper()
		f, errno := j.OpenFile(name, flag, 0)
		if errno != want {
			t.Errorf("open %s with %x: %v, want %v", name, flag, errno, want)
		}
		return f
	}
	is := func(what string, got, want wasi.Errno) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	open("new", wasi.O_WRONLY, wasi.ENOENT)
	open("a.txt", wasi.O_CREAT|wasi.O_EXCL|wasi.O_RDWR, wasi.EEXIST)
	open("a.txt", wasi.O_DIRECTORY, wasi.ENOTDIR)
	open("a.txt/", 0, wasi.ENOTDIR)
	open("sub", wasi.O_RDWR, wasi.EISDIR)
	open("sub", wasi.O_CREAT, wasi.EISDIR)
	open("within", wasi.O_NOFOLLOW, wasi.ELOOP)
	w := open("within", wasi.O_WRONLY|wasi.O_TRUNC, 0) // a link whose target is inside
	if n, errno := w.Write([]byte("new")); n != 3 || errno != 0 {
		t.Errorf("write: %d, %v", n, errno)
	}
	is("stat of the open file", func() wasi.Errno { _, errno := w.Stat(); return errno }(), 0)
	is("utimens by descriptor", w.Utimens(wasi.UTIME_OMIT, 7e9), 0)
	is("unlink what is open", j.Unlink("sub/b.txt"), 0)
	is("utimens of what is gone", w.Utimens(1, 1), wasi.ENOENT)
	is("append", w.SetAppend(true), wasi.ENOTSUP)
	is("no append", w.SetAppend(false), 0)
	is("size", w.Truncate(-1), wasi.EINVAL)
	is("seek", func() wasi.Errno { _, errno := w.Seek(-1, io.SeekStart); return errno }(), wasi.EINVAL)
	a := open("a.txt", wasi.O_APPEND, 0)
	is("pwrite", func() wasi.Errno { _, errno := a.Pwrite([]byte("x"), 0); return errno }(), wasi.ENOTSUP)
	if n, errno := a.Write([]byte("+")); n != 1 || errno != 0 || !a.IsAppend() {
		t.Errorf("append: %d, %v", n, errno)
	}
	is("mkdir", j.Mkdir("sub/", 0), wasi.EEXIST)
	is("mkdir", j.Mkdir("/deep", 0), 0)
	is("mkdir", j.Mkdir("deep/er", 0), 0)
	is("mkdir", j.Mkdir("none/er", 0), wasi.ENOENT)
	is("rmdir", j.Rmdir("deep"), wasi.ENOTEMPTY)
	is("rmdir", j.Rmdir("a.txt"), wasi.ENOTDIR)
	is("rmdir", j.Rmdir("."), wasi.EINVAL)
	is("unlink", j.Unlink("deep"), wasi.EISDIR)
	is("unlink", j.Unlink("a.txt/"), wasi.ENOTDIR)
	is("unlink", j.Unlink("none"), wasi.ENOENT)
	is("rename", j.Rename("none", "b"), wasi.ENOENT)
	is("rename", j.Rename("a.txt", "deep/"), wasi.ENOTDIR)
	is("rename", j.Rename(".", "deep/x"), wasi.EINVAL)
	is("rename", j.Rename("deep", "deep/er/x"), wasi.EINVAL)
	is("rename of a link", j.Rename("relative", "deep/relative"), wasi.EPERM)
	is("rename over a directory", j.Rename("deep/er", "sub"), wasi.EEXIST)
	is("rename", j.Rename("deep/er", "er"), 0)
	is("unlink of a link", j.Unlink("relative"), 0)
	if b, err := os.ReadFile(filepath.Join(inside, "a.txt")); err != nil || string(b) != "aaa+" {
		t.Errorf("a.txt is %q, %v", b, err)
	}
	st, errno := j.Lstat("absolute")
	if errno != 0 || st.Mode&fs.ModeSymlink == 0 {
		t.Errorf("lstat of a link: %v, %v", st.Mode, errno)
	}
}

func TestRootDirLimitsOpenFiles(t *testing.T) {
	t.Parallel()
	inside, _ := playground(t)
	j, cancel := openRootDir(t, inside, true)
	other := &rootDir{fileTable: j.fileTable, root: j.root}
	var all []wasi.File
	for i := range j.limit {
		f, errno := []*rootDir{j, other}[i%2].OpenFile("a.txt", 0, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		all = append(all, f)
	}
	for _, j := range []*rootDir{j, other} {
		if _, errno := j.OpenFile("a.txt", 0, 0); errno != wasi.EAGAIN {
			t.Errorf("one more: %v", errno)
		}
	}
	if errno := all[0].Close(); errno != 0 {
		t.Error(errno)
	}
	f, errno := j.OpenFile("a.txt", wasi.O_RDWR, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	// After the run has ended nothing is read or written.
	buf := make([]byte, 1)
	if n, errno := f.Read(buf); n != 1 || errno != 0 {
		t.Errorf("read: %d, %v", n, errno)
	}
	cancel()
	_, read := f.Read(buf)
	_, pread := f.Pread(buf, 0)
	_, write := f.Write(buf)
	_, open := j.OpenFile("a.txt", 0, 0)
	for what, errno := range map[string]wasi.Errno{"read": read, "pread": pread, "write": write, "open": open, "truncate": f.Truncate(0), "sync": f.Sync(), "mkdir": j.Mkdir("x", 0)} {
		if errno != wasi.EINTR {
			t.Errorf("%s after the end: %v", what, errno)
		}
	}
}

// A process that replaces a file by a link during opening cannot lead a guest
// outside.
func TestRootDirWhileLinksChange(t *testing.T) {
	t.Parallel()
	inside, outside := playground(t)
	j, _ := openRootDir(t, inside, true)
	for i, target := range []string{"a.txt", "../out/secret", filepath.Join(outside, "secret"), "sub", "../out"} {
		if err := os.Symlink(target, filepath.Join(inside, fmt.Sprint("swap", i))); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			// Each name alternates between two links, as a file and as a directory.
			_ = os.Rename(filepath.Join(inside, fmt.Sprint("swap", i%3)), filepath.Join(inside, "target"))
			_ = os.Symlink([]string{"a.txt", "../out/secret", filepath.Join(outside, "secret")}[i%3], filepath.Join(inside, fmt.Sprint("swap", i%3)))
			_ = os.Remove(filepath.Join(inside, "way"))
			_ = os.Symlink([]string{"sub", "../out"}[i%2], filepath.Join(inside, "way"))
		}
	})
	for range 3000 {
		for _, name := range []string{"target", "way/secret"} {
			f, errno := j.OpenFile(name, wasi.O_RDWR, 0)
			if errno != 0 {
				continue
			}
			buf := make([]byte, 10)
			if n, _ := f.Read(buf); string(buf[:n]) == "secret" {
				t.Errorf("%s leads out", name)
			}
			f.Close()
		}
		if f, errno := j.OpenFile("way/made", wasi.O_CREAT|wasi.O_WRONLY, 0); errno == 0 {
			f.Close()
		}
	}
	close(stop)
	swaps.Wait()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside there is %v, %v", entries, err)
	}
}

func TestRootDirWithDevices(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/null"); err != nil {
		t.Skip(err)
	}
	d, _ := openRootDir(t, "/dev", false)
	if _, errno := d.OpenFile("null", 0, 0); errno != wasi.EPERM {
		t.Errorf("a device opens: %v", errno)
	}
	// Links of the system that are not paths lead nowhere either.
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	p, _ := openRootDir(t, "/proc", false)
	for _, name := range []string{"self/fd/0", "self/fd/1", "self/root/etc/passwd", "self/cwd/files.go", "self/exe"} {
		if _, errno := p.OpenFile(name, 0, 0); errno == 0 {
			t.Errorf("%s opens", name)
		}
	}
}

func TestErrnoOf(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]wasi.Errno{
		nil: 0, fs.ErrNotExist: wasi.ENOENT, syscall.ENOTEMPTY: wasi.ENOTEMPTY, syscall.EEXIST: wasi.EEXIST, syscall.ENOSPC: wasi.EIO,
		errors.New("path escapes"): wasi.EPERM, fs.ErrPermission: wasi.EPERM, syscall.EACCES: wasi.EPERM, os.ErrClosed: wasi.EBADF,
	} {
		if got := errnoOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
