package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/lockfile"
)

const (
	// lockPatience is how long lockDataDir waits for a server that was killed a moment ago.
	lockPatience = 2 * time.Second
	lockAgain    = 20 * time.Millisecond // time between two attempts
)

// openDataDir locks the data directory and prepares to run commands, until done.
func (h *Host) openDataDir(ctx context.Context) (done func(), err error) {
	unlock, err := h.lockDataDir(ctx)
	if err != nil {
		return nil, err
	}
	closeCommands, err := h.openCommands(ctx)
	if err != nil {
		unlock()
		return nil, err
	}
	return func() {
		closeCommands()
		unlock()
	}, nil
}

// lockDataDir locks the data directory until unlock. Two servers on it would overwrite each
// other's files, end each other's commands and use each other's modules.
func (h *Host) lockDataDir(ctx context.Context) (unlock func(), err error) {
	dir := h.o.DataDir
	if dir == "" || !lockfile.Supported {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, failf(Internal, err, "data directory")
	}
	name := filepath.Join(dir, "lock")
	again, over := time.NewTicker(lockAgain), time.After(lockPatience)
	defer again.Stop()
	for {
		f, err := lockfile.Take(name)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, noteHolder(f)
		case !errors.Is(err, lockfile.ErrTaken):
			return nil, failf(Internal, err, "lock data directory %s", dir)
		}
		select {
		case <-again.C:
			continue
		case <-over:
		case <-ctx.Done():
		}
		return nil, failf(Refused, nil, "data directory %s is in use by %s; give each server a data_dir of its own", dir, holder(name))
	}
}

// noteHolder writes this process's id into the lock file, for messages.
func noteHolder(f *os.File) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d\n", os.Getpid())
	}
	if err != nil {
		return errors.Join(failf(Internal, err, "write to %s", f.Name()), f.Close())
	}
	return nil
}

// holder returns the process that a lock file names.
func holder(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return "another process"
	}
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if b = bytes.TrimSpace(b); err != nil || f.Close() != nil || len(b) == 0 {
		return "another process"
	}
	return string(b)
}
