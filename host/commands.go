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

// Supervise is the main function of the program in Options.Supervisor. args are its remaining
// arguments, server is its standard input and say its standard error. It runs one command of
// the operating system, ends all processes that the command started, and returns the exit code.
// The process must do nothing else.
func Supervise(args []string, server io.Reader, say io.Writer) int {
	return native.Supervise(args, server, say)
}

// EndCommands ends all commands of the operating system, with all processes that they started,
// at once, and prevents new ones. It returns when they are gone or ctx ends. It is for a
// process that is about to exit without waiting for Run; otherwise the commands would outlive
// the process for a moment.
func (h *Host) EndCommands(ctx context.Context) {
	h.mu.Lock()
	commands := h.o.commands
	h.mu.Unlock()
	if commands != nil {
		commands.End(ctx)
	}
}

// openCommands prepares to run commands of the operating system, and returns the function that
// ends this. Before any job begins, it ends processes left behind by an earlier server on this
// data directory, since they may be runs of the same items. It does so even if commands are not
// allowed any more. A Runner runs no commands.
func (h *Host) openCommands(ctx context.Context) (done func(), err error) {
	done = func() {}
	if h.o.DataDir == "" || h.o.Runner != nil {
		return done, nil
	}
	dir := filepath.Join(h.o.DataDir, "commands")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && !h.o.NativeScripts {
		return done, nil // no command has ever run
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, failf(Internal, err, "data directory %s", h.o.DataDir)
	}
	lock, err := lockfile.Take(filepath.Join(dir, "lock"))
	if err != nil {
		return done, failf(Refused, err, "data directory %s", dir)
	}
	// Open takes little time; if a signal cancelled it, its error would look like a process
	// that does not end.
	commands, err := native.Open(context.WithoutCancel(ctx), native.Options{Dir: dir, Lock: lock, Supervisor: h.o.Supervisor, Allowed: h.o.NativeScripts, Log: h.o.Log})
	if err != nil {
		return done, failf(Refused, errors.Join(err, lock.Close()), "end the commands of an earlier server, see %s", dir)
	}
	h.mu.Lock()
	h.o.commands = commands
	h.mu.Unlock()
	return func() {
		commands.Close()
		_ = lock.Close() // nothing was written
	}, nil
}
