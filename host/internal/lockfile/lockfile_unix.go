//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Supported reports whether files can be locked on this system.
const Supported = true

// Take opens the file, which it creates if necessary, and takes its lock. The lock is
// held as long as the file is open. If another process holds it, the error is ErrTaken.
func Take(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrTaken
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
