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
	// socketDir is the directory below the data directory that only its owner may enter,
	// so that no other user reaches the socket before it has its mode.
	socketDir = "admin"
	// socketName is the socket, in socketDir or in a directory of its own.
	socketName = "socket"
	// elsewhereName is a file in socketDir that names the socket, if the path of socketDir is
	// too long for one.
	elsewhereName = "elsewhere"
	// maxPath is the longest path of a socket.
	maxPath = 107
	// dirPattern is the pattern for names of directories that hold a socket elsewhere.
	dirPattern = "wasmjobd-*"
)

// Socket is the socket of the server with a data directory.
type Socket struct {
	net.Listener
	path    string
	cleanup []string // files and directories that Close removes, the innermost first
}

// Path returns the path of the socket.
func (s *Socket) Path() string { return s.path }

// Listen creates the socket of the server with a data directory. The caller holds the lock
// that OpenRegistry takes, so a socket that already exists was left by an earlier server
// and is replaced.
func Listen(ctx context.Context, dataDir string) (*Socket, error) {
	return listen(ctx, dataDir, runtimeDirs())
}

// runtimeDirs returns the directories for a socket whose own path would be too
// long, the best first.
func runtimeDirs() []string {
	return []string{os.Getenv("XDG_RUNTIME_DIR"), "/run/user/" + strconv.Itoa(os.Geteuid()), "/run", os.TempDir(), "/tmp"}
}

// listen is Listen with the directories for a socket whose path would be too long, the best first.
func listen(ctx context.Context, dataDir string, others []string) (*Socket, error) {
	dir, err := filepath.Abs(filepath.Join(dataDir, socketDir))
	if err != nil {
		return nil, fmt.Errorf("make the socket for operators: %w", err)
	}
	if err := ownFolder(dir); err != nil {
		return nil, fmt.Errorf("make the socket for operators: %w", err)
	}
	if err := removeLeftovers(dir); err != nil {
		return nil, fmt.Errorf("remove the socket of an earlier server: %w", err)
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
	s.cleanup = append([]string{s.path}, s.cleanup...)
	return s, nil
}

// ownFolder makes a directory that only this user may enter, unless it exists.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if uid, ok := owner(info); !info.IsDir() || !ok || uid != os.Geteuid() {
		return fmt.Errorf("%s is not a directory of this user; remove it", dir)
	}
	return os.Chmod(dir, 0o700) //nolint:gosec // a directory is entered by x
}

// moveTo chooses a directory in which the path of the socket is short enough, and writes
// its name into socketDir.
func (s *Socket) moveTo(dir string, others []string) error {
	for _, other := range others {
		// MkdirTemp puts at most ten digits in place of the asterisk.
		if len(filepath.Join(other, dirPattern+"0123456789", socketName)) > maxPath || !safe(other) {
			continue
		}
		own, err := os.MkdirTemp(other, dirPattern) // with an unpredictable name, for this user alone
		if err != nil {
			continue
		}
		name := filepath.Join(dir, elsewhereName)
		s.path, s.cleanup = filepath.Join(own, socketName), []string{name, own}
		return os.WriteFile(name, []byte(s.path+"\n"), 0o600)
	}
	return fmt.Errorf("the path %s is too long for a socket, and no runtime directory can be used instead; set XDG_RUNTIME_DIR, or a shorter data_dir", dir)
}

// safe reports whether files that this user creates in a directory are safe from other
// users: they cannot write there or, as in /tmp, cannot remove files of others.
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
		u.SetUnlinkOnClose(false) // Close of Socket removes all files
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	return l, nil
}

// Close removes the socket. Call it before the lock of the data directory is released.
func (s *Socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // Serve has closed it
	}
	return errors.Join(err, s.removeFiles())
}

// removeFiles removes the socket, and what moveTo has made. It removes as much as it can.
func (s *Socket) removeFiles() error {
	var faults []error
	for _, name := range s.cleanup {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// removeLeftovers removes the files of a killed server in socketDir, and the socket elsewhere that
// they name.
func removeLeftovers(dir string) error {
	if path, err := elsewhere(dir); err == nil && filepath.Base(path) == socketName {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			_ = os.Remove(path) // if it stays, it does no harm, since no client looks for it
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

// elsewhere reads the path of the socket that socketDir names.
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
