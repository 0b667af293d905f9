package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/wasmjob/wasmjob/host"
)

// ErrNoServer is the error when no server answers for a data directory.
var ErrNoServer = errors.New("no server answers for the data directory")

// find tells where the socket of the server with a data directory is. What
// somebody else could have put there is refused, since a person would believe
// what it answers.
func find(dataDir string) (string, error) {
	dir := filepath.Join(dataDir, folder)
	if err := trusted(dir, dataDir, fs.ModeDir); err != nil {
		return "", err
	}
	path, err := elsewhere(dir)
	switch {
	case err == nil:
		err = trusted(filepath.Dir(path), dataDir, fs.ModeDir)
	case errors.Is(err, fs.ErrNotExist):
		path, err = filepath.Join(dir, socketName), nil
	}
	if err != nil {
		return "", fmt.Errorf("find the server's socket: %w", err)
	}
	return path, trusted(path, dataDir, fs.ModeSocket)
}

// trusted tells whether a file is of this kind and this user's alone. An
// administrator may also ask the server of whoever has the data directory.
func trusted(path, dataDir string, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s", ErrNoServer, path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return notYours(err)
	}
	if err != nil {
		return err
	}
	uid, ok := owner(info)
	of := os.Geteuid()
	if data, err := os.Stat(dataDir); err == nil && of == 0 && uid != of {
		of, _ = owner(data)
	}
	switch {
	case info.Mode().Type() != kind:
		return &host.Error{Code: host.Denied, Msg: path + " is not what a server makes there; remove it"}
	case !ok || uid != of:
		return &host.Error{Code: host.Denied, Msg: fmt.Sprintf("%s belongs to user %d, who may ask its server; ask as that user, or remove it if it is not the server's", path, uid)}
	case info.Mode()&0o077 != 0:
		return &host.Error{Code: host.Denied, Msg: fmt.Sprintf("%s can be used by other users (mode %04o), so it is not believed; remove it and start the server again", path, info.Mode().Perm())}
	}
	return nil
}

// connect opens a connection to the socket.
func connect(ctx context.Context, path string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err) // it was killed, or has just ended
	case errors.Is(err, fs.ErrPermission):
		return nil, notYours(err)
	case len(path) > maxPath:
		return nil, fmt.Errorf("the path %s is too long for a socket; name data_dir by a shorter one", path)
	}
	return nil, fmt.Errorf("reach the server: %w", err)
}

// notYours is the error of somebody whom the system does not let in.
func notYours(err error) error {
	return &host.Error{Code: host.Denied, Msg: "only the user of the server, or root, may ask it", Err: err}
}
