package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// folder is the directory in the data directory that only its owner may enter.
	// So no other user reaches the socket before it has its mode.
	folder = "admin"
	// socketName is the socket, in folder or in a directory of its own.
	socketName = "socket"
	// elsewhereName is a file in folder that names the socket, where the path of
	// folder is too long for one.
	elsewhereName = "elsewhere"
	// maxPath is the longest path that the address of a socket has room for.
	maxPath = 107
	// ownPattern is how directories are called that hold a socket elsewhere.
	ownPattern = "wasmjobd-*"
)

// Socket is the socket of the server with a data directory.
type Socket struct {
	net.Listener
	path  string
	clear []string // what is removed with it, the inmost first
}

// Path is where the socket is.
func (s *Socket) Path() string { return s.path }

// Listen makes the socket of the server with a data directory. The caller holds
// the lock of that, as OpenRegistry takes it: what another server has left there
// is replaced.
func Listen(ctx context.Context, dataDir string) (*Socket, error) {
	return listen(ctx, dataDir, runtimeDirs())
}

// runtimeDirs returns the directories for a socket whose own path would be too
// long, the best first.
func runtimeDirs() []string {
	return []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(os.Geteuid()), "/run", os.TempDir(), "/tmp"}
}

func listen(ctx context.Context, dataDir string, others []string) (*Socket, error) {
	dir, err := filepath.Abs(filepath.Join(dataDir, folder))
	if err != nil {
		return nil, fmt.Errorf("make the socket for operators: %w", err)
	}
	if err := ownFolder(dir); err != nil {
		return nil, fmt.Errorf("make the socket for operators: %w", err)
	}
	if err := forget(dir); err != nil {
		return nil, fmt.Errorf("remove the socket that a server has left: %w", err)
	}
	s := &Socket{path: filepath.Join(dir, socketName)}
	if len(s.path) > maxPath {
		err = s.moveTo(dir, others)
	}
	if err == nil {
		s.Listener, err = open(ctx, s.path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the socket for operators: %w", err), s.removeFiles())
	}
	s.clear = append([]string{s.path}, s.clear...)
	return s, nil
}

// ownFolder makes a directory that only this user enters, if it is not there.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if uid, ok := owner(info); !info.IsDir() || !ok || uid != os.Geteuid() {
		return fmt.Errorf("%s is no directory of this user; remove it", dir)
	}
	return os.Chmod(dir, 0o700) //nolint:gosec // a directory is entered by x
}

// moveTo chooses a directory for the socket in which its path is short enough, and
// has folder name it.
func (s *Socket) moveTo(dir string, others []string) error {
	for _, other := range others {
		if len(filepath.Join(other, ownPattern+"0123456789", socketName)) > maxPath || !safe(other) {
			continue
		}
		own, err := os.MkdirTemp(other, ownPattern) // with an unpredictable name, for this user alone
		if err != nil {
			continue
		}
		name := filepath.Join(dir, elsewhereName)
		s.path, s.clear = filepath.Join(own, socketName), []string{name, own}
		return os.WriteFile(name, []byte(s.path+"\n"), 0o600)
	}
	return fmt.Errorf("the path %s is too long for a socket, and no directory for those of running programs can be used; set XDG_RUNTIME_DIR, or a shorter data_dir", dir)
}

// safe reports whether files that this user creates in a directory stay as they
// are: no other user can write there, or, as in a directory for temporary files, no
// user can remove the files of another.
func safe(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !filepath.IsAbs(dir) || !info.IsDir() {
		return false
	}
	uid, ok := owner(info)
	if !ok || uid != os.Geteuid() && uid != 0 {
		return false
	}
	return info.Mode()&0o022 == 0 || info.Mode()&fs.ModeSticky != 0
}

// open listens on a path that only this user may connect to.
func open(ctx context.Context, path string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what and where
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // Close removes all that there is
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	return l, nil
}

// Close takes the socket away. Whoever has the lock of the data directory next
// makes another.
func (s *Socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // Serve has closed it
	}
	return errors.Join(err, s.removeFiles())
}

func (s *Socket) removeFiles() error {
	var faults []error
	for _, name := range s.clear {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// forget removes what a server that was killed has left in folder, and where that
// says that its socket is.
func forget(dir string) error {
	if path, err := elsewhere(dir); err == nil && filepath.Base(path) == socketName {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			_ = os.Remove(path) // if it cannot be removed, the file stays, and no client looks for it
			_ = os.Remove(filepath.Dir(path))
		}
	}
	for _, name := range []string{elsewhereName, socketName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// elsewhere reads which socket folder names.
func elsewhere(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, elsewhereName))
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(string(text), "\n")
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || len(path) > maxPath {
		return "", fmt.Errorf("%s names no socket", filepath.Join(dir, elsewhereName))
	}
	return path, nil
}
