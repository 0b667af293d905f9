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

// find returns the path of the socket of the server with a data directory. It refuses a
// socket that another user may have created, since the answers are trusted.
func find(dataDir string) (string, error) {
	dir := filepath.Join(dataDir, socketDir)
	if err := trusted(dir, dataDir, fs.ModeDir); err != nil {
		return "", err
	}
	path, err := elsewhere(dir) // a file in dir names the socket if the path of dir is too long for one
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

// trusted returns an error unless a file is of the given kind and belongs to this user
// alone. For root, it may also belong to the user who owns the data directory.
func trusted(path, dataDir string, kind fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s", ErrNoServer, path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return notPermitted(err)
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
		return &host.Error{Code: host.Denied, Msg: fmt.Sprintf("%s belongs to user %d, and only that user may ask its server; run the command as that user, or remove it if it is not the server's", path, uid)}
	case info.Mode()&0o077 != 0:
		return &host.Error{Code: host.Denied, Msg: fmt.Sprintf("%s can be used by other users (mode %04o) and is not trusted; remove it and start the server again", path, info.Mode().Perm())}
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
		return nil, notPermitted(err)
	case len(path) > maxPath:
		return nil, fmt.Errorf("the path %s is too long for a socket; name data_dir by a shorter one", path)
	}
	return nil, fmt.Errorf("reach the server: %w", err)
}

// notPermitted is the error for a user without permission.
func notPermitted(err error) error {
	return &host.Error{Code: host.Denied, Msg: "only the user of the server, or root, may ask it", Err: err}
}
