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
	// lockPatience is how long the data directory may be that of a server which was
	// killed a moment ago.
	lockPatience = 2 * time.Second
	lockAgain    = 20 * time.Millisecond
)

// openDataDir has the data directory to itself, with what commands have left in it.
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

// lockDataDir keeps others out of the data directory until unlock: two servers would
// overwrite there what the other has read in its files, end its commands and take its
// modules for their own.
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

// noteHolder writes down who has the lock, for people.
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
