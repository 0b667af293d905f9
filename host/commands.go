package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wasmjob/wasmjob/host/internal/lockfile"
	"github.com/wasmjob/wasmjob/host/internal/native"
)

// Supervise is all that the program does which Options.Supervisor names: args are
// what follows on its command line, server is its standard input and say its
// standard error. It runs one command of the operating system, ends all that this
// started, and returns the exit code. It is called in a process that does nothing
// else.
func Supervise(args []string, server io.Reader, say io.Writer) int {
	return native.Supervise(args, server, say)
}

// EndCommands ends all commands of the operating system at once, with all that
// they started, and lets none begin. It returns when they are gone, or when ctx is
// over. It is for a process that is about to end without waiting for Run: they
// would end without it, but after the process.
func (h *Host) EndCommands(ctx context.Context) {
	h.mu.Lock()
	commands := h.o.commands
	h.mu.Unlock()
	if commands != nil {
		commands.End(ctx)
	}
}

// openCommands ends what commands of an earlier server on the data directory have
// left, before a job can begin the same item, and makes ready for those of this
// one.
func (h *Host) openCommands(ctx context.Context) (done func(), err error) {
	done = func() {}
	if h.o.DataDir == "" || h.o.Runner != nil {
		return done, nil
	}
	dir := filepath.Join(h.o.DataDir, "commands")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && !h.o.NativeScripts {
		return done, nil // none has ever run
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, failf(Internal, err, "data directory %s", h.o.DataDir)
	}
	lock, err := lockfile.Take(filepath.Join(dir, "lock"))
	if err != nil {
		return done, failf(Refused, err, "data directory %s", dir)
	}
	// This is short, and a signal meanwhile is no fault of what was left.
	commands, err := native.Open(context.WithoutCancel(ctx), native.Options{Dir: dir, Lock: lock, Supervisor: h.o.Supervisor, Log: h.o.Log})
	if err != nil {
		return done, failf(Refused, errors.Join(err, lock.Close()), "commands that a server before this one has left, see %s", dir)
	}
	h.mu.Lock()
	h.o.commands = commands
	h.mu.Unlock()
	return func() {
		commands.Close()
		_ = lock.Close() // nothing was written
	}, nil
}
