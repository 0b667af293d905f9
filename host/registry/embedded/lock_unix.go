//go:build unix

package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockFile takes a lock that lasts as long as the returned file is open, and writes this
// process's id to the file.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w by %s", ErrInUse, holder(f))
		}
		return nil, errors.Join(err, f.Close())
	}
	err = giveToOwner(name)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d\n", os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// holder returns the process that holds the lock, for messages only.
func holder(f *os.File) string {
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if b = bytes.TrimSpace(b); err != nil || len(b) == 0 {
		return "another process"
	}
	return string(b)
}
