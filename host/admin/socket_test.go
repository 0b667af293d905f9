package admin

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
)

// mode returns the permissions of a file.
func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestSocketIsOnesOwn(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s, err := Listen(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if m := mode(t, s.Path()); m != fs.ModeSocket|0o600 {
		t.Errorf("socket: %s", m)
	}
	if m := mode(t, filepath.Dir(s.Path())); m != fs.ModeDir|0o700 {
		t.Errorf("folder: %s", m)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(s.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}

// leave creates a socket without a listener, as kill -9 leaves it.
func leave(t *testing.T, path string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(path, 0o600), l.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAKilledServerLeft(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	dir := filepath.Join(data, socketDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	leave(t, filepath.Join(dir, socketName))
	if _, err := Dial(t.Context(), data); !errors.Is(err, ErrNoServer) {
		t.Errorf("dialled: %v", err)
	}
	s, err := Listen(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// longDir is a data directory whose path is too long for a socket.
func longDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", maxPath/5))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLongPathHasItsSocketElsewhere(t *testing.T) {
	t.Parallel()
	data, runtime := longDir(t), t.TempDir()
	open := t.TempDir() // where any user can create files
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	first, err := listen(t.Context(), data, []string{"", "relative", data, open, filepath.Join(runtime, "absent"), runtime})
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Dir(first.Path())
	if filepath.Dir(own) != runtime || mode(t, own) != fs.ModeDir|0o700 || mode(t, first.Path()) != fs.ModeSocket|0o600 {
		t.Errorf("it is at %s", first.Path())
	}
	c, err := Dial(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	// As after a kill: the listener is gone, and all files stay.
	if err := errors.Join(c.Close(), first.Listener.Close()); err != nil {
		t.Fatal(err)
	}
	second, err := listen(t.Context(), data, []string{runtime})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(own); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the first one's directory is left: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{runtime, filepath.Join(data, socketDir), open} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", dir, left, err)
		}
	}
	if _, err := listen(t.Context(), data, []string{data}); err == nil || !strings.Contains(err.Error(), "set XDG_RUNTIME_DIR, or a shorter data_dir") {
		t.Errorf("nowhere to go: %v", err)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A client does not connect to a socket that another user may have created.
func TestWhatIsNotBelieved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, data string, s *Socket) error
		why   string
	}{
		{"a socket that others can use", func(_ *testing.T, _ string, s *Socket) error { return os.Chmod(s.Path(), 0o666) }, "can be used by other users (mode 0666)"},
		{"a folder that others can enter", func(_ *testing.T, _ string, s *Socket) error {
			return os.Chmod(filepath.Dir(s.Path()), 0o770)
		}, "can be used by other users (mode 0770)"},
		{"a socket of another user", func(t *testing.T, data string, s *Socket) error {
			rootOnly(t)
			return errors.Join(os.Chown(s.Path(), 4711, -1), os.Chown(data, 4712, -1))
		}, "belongs to user 4711"},
		{"a folder of another user", func(t *testing.T, _ string, s *Socket) error {
			rootOnly(t)
			return os.Chown(filepath.Dir(s.Path()), 4711, -1)
		}, "belongs to user 4711"},
		{"a link to a socket", func(t *testing.T, _ string, s *Socket) error {
			other := filepath.Join(t.TempDir(), "s")
			leave(t, other)
			return errors.Join(os.Remove(s.Path()), os.Symlink(other, s.Path()))
		}, "is not what a server makes there"},
		{"a file", func(_ *testing.T, _ string, s *Socket) error {
			return errors.Join(os.Remove(s.Path()), os.WriteFile(s.Path(), nil, 0o600))
		}, "is not what a server makes there"},
		{"elsewhere, where others can write", func(t *testing.T, data string, _ *Socket) error {
			dir := t.TempDir()
			leave(t, filepath.Join(dir, socketName))
			return errors.Join(os.Chmod(dir, 0o777), os.WriteFile(filepath.Join(data, socketDir, elsewhereName), []byte(filepath.Join(dir, socketName)), 0o600))
		}, "can be used by other users (mode 0777)"},
		{"elsewhere, which is no path", func(_ *testing.T, data string, _ *Socket) error {
			return os.WriteFile(filepath.Join(data, socketDir, elsewhereName), []byte("../../socket\n"), 0o600)
		}, "names no socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			s, err := Listen(t.Context(), data)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := tt.spoil(t, data, s); err != nil {
				t.Fatal(err)
			}
			if c, err := Dial(t.Context(), data); err == nil || !strings.Contains(err.Error(), tt.why) || errors.Is(err, ErrNoServer) {
				t.Errorf("dialled: %v, %v, want %q", c, err, tt.why)
			}
		})
	}
}

func rootOnly(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("left out: only root gives a file to another user")
	}
}

// An administrator may connect to the server of another user.
func TestRootAsksForOthers(t *testing.T) {
	t.Parallel()
	rootOnly(t)
	data := t.TempDir()
	s, err := Listen(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{data, filepath.Dir(s.Path()), s.Path()} {
		if err := os.Chown(path, 4711, -1); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Dial(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// A server does not create its socket in a directory of another user.
func TestFolderOfAnother(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*testing.T, string) error{
		"link": func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), dir) },
		"file": func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"of another user": func(t *testing.T, dir string) error {
			rootOnly(t)
			return errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, 4711, -1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			if err := spoil(t, filepath.Join(data, socketDir)); err != nil {
				t.Fatal(err)
			}
			if _, err := Listen(t.Context(), data); err == nil || !strings.Contains(err.Error(), "is not a directory of this user; remove it") {
				t.Errorf("it listens: %v", err)
			}
			_, err := Dial(t.Context(), data)
			if name != "of another user" {
				wantCode(t, name, err, host.Denied, "is not what a server makes there")
			} else {
				wantCode(t, name, err, host.Denied, "belongs to user 4711")
			}
		})
	}
}
