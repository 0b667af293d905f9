package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// subprocessTimeout limits a compilation in a subprocess. The bounds of effort.go
// allow a few minutes on a slow machine.
const subprocessTimeout = 15 * time.Minute

// Exit codes of the subprocess besides 0. Any other means that it died.
const (
	exitFault    = 3 // it has compiled nothing and reported the reason, such as a full disk
	exitNoMemory = 4 // the system refused memory, and it could still report that
	exitRefused  = 5 // it refuses the module; it has written the Refusal as JSON
)

// serverPipeFD is open in the subprocess as long as the server lives.
const serverPipeFD = 3

// diedError reports that the subprocess that compiled a module died.
type diedError struct{ how string }

func (e *diedError) Error() string { return "a subprocess that compiled it " + e.how }

// compileInSubprocess compiles a module in a subprocess and moves the result into
// the cache. The error is a *diedError if the subprocess died because of the module.
func (e *Engine) compileInSubprocess(ctx context.Context, binary []byte) (err error) {
	if len(e.compiler) == 0 {
		return &diedError{"cannot be started, because this program has no command for it"}
	}
	dir, err := os.MkdirTemp(e.dir, "apart-")
	if err != nil {
		return fmt.Errorf("compile in a subprocess: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cache := filepath.Join(dir, "cache") // its key is next to it
	timeoutCtx, cancel := context.WithTimeout(ctx, subprocessTimeout)
	defer cancel()
	cmd, done, err := Subprocess(timeoutCtx, e.compiler, cache, strconv.FormatUint(e.queue.maxSingle(), 10))
	if err != nil {
		return fmt.Errorf("compile in a subprocess: %w", err)
	}
	defer done()
	cmd.Stdin = bytes.NewReader(binary)
	stderr := &firstBytes{}
	cmd.Stderr = stderr
	err = cmd.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return e.moveToCache(cache)
	case ctx.Err() != nil:
		return fmt.Errorf("compile in a subprocess: %w", ctx.Err())
	case timeoutCtx.Err() != nil:
		return &diedError{"took longer than " + subprocessTimeout.String()}
	case !exited:
		return fmt.Errorf("compile in a subprocess: %w", err)
	case terminated(exit):
		return fmt.Errorf("compile in a subprocess: the process was terminated: %w", exit)
	case exit.ExitCode() == exitRefused:
		return stderr.refusal()
	case exit.ExitCode() == exitFault:
		return fmt.Errorf("compile in a subprocess: %s", stderr)
	case exit.ExitCode() == exitNoMemory:
		return &diedError{"ran out of memory (" + stderr.line() + ")"}
	}
	return &diedError{"died (" + strings.TrimSpace(exit.String()+" "+stderr.line()) + ")"}
}

// Subprocess returns a command that runs program with more arguments, without the
// environment of this process. If the program calls Confine, it ends with this process:
// the system then closes the other end of a pipe. Call done after the command.
func Subprocess(ctx context.Context, program []string, args ...string) (cmd *exec.Cmd, done func(), err error) {
	serverPipe, keepOpen, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("prepare a subprocess: %w", err)
	}
	// The slice expression makes append copy program, which other calls share.
	cmd = exec.CommandContext(ctx, program[0], append(program[1:len(program):len(program)], args...)...) //nolint:gosec // configured by the embedder
	cmd.Args[0] = os.Args[0]                                                                             // the subprocess has the name of this process
	cmd.Env = []string{}                                                                                 // the server's environment may contain secrets
	cmd.ExtraFiles = []*os.File{serverPipe}
	return cmd, func() {
		_ = keepOpen.Close() // nothing was written
		_ = serverPipe.Close()
	}, nil
}

// Confine limits how much more memory this process, started by Subprocess, can use. It
// ends the process when the server has died, which closes the server's end of the pipe.
func Confine(memory int64) error {
	debug.SetMemoryLimit(memory)
	if err := limitProcess(memory); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(serverPipeFD, "the server"))
		os.Exit(exitFault)
	}()
	return nil
}

// terminated reports whether a process was ended by a signal that no module causes.
// A terminal or a service manager sends it to the server as well, which may continue
// for a while.
func terminated(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false
	}
	return slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}, status.Signal())
}

// moveToCache moves compiled files from a subprocess's directory into the cache.
func (e *Engine) moveToCache(dir string) error {
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) { // made with the subprocess's own key
			continue
		}
		inner := filepath.Join(e.dir, filepath.Base(filepath.Dir(f)))
		if err := os.MkdirAll(inner, 0o700); err != nil {
			return fmt.Errorf("keep a compiled module: %w", err)
		}
		if err := os.Rename(f, filepath.Join(inner, filepath.Base(f))); err != nil {
			return fmt.Errorf("keep a compiled module: %w", err)
		}
	}
	return sealNewFiles(e.dir)
}

// removeSubprocessDirs removes the directories of subprocesses that ended with their
// server.
func removeSubprocessDirs(dir string) error {
	left, err := glob(dir, "apart-*")
	if err != nil {
		return fmt.Errorf("look for interrupted compilations: %w", err)
	}
	for _, d := range left {
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("remove an interrupted compilation: %w", err)
		}
	}
	return nil
}

// CompileInSubprocess is the main function of the subprocess that Options.Compiler
// starts. args are the last two arguments of its command line. It reads a module,
// compiles it within its own memory limit, and returns the exit code.
func CompileInSubprocess(ctx context.Context, args []string, wasm io.Reader, stderr io.Writer) (exit int) {
	err := compileInto(ctx, args, wasm)
	if err == nil {
		return 0
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		_ = json.NewEncoder(stderr).Encode(r) // on failure the server reports an unreadable refusal
		return exitRefused
	}
	fmt.Fprintln(stderr, err)
	if errors.Is(err, syscall.ENOMEM) {
		return exitNoMemory
	}
	return exitFault
}

// compileInto compiles the module read from wasm into a new cache. args are the directory
// of that cache, and the bytes of memory that this process may use.
func compileInto(ctx context.Context, args []string, wasm io.Reader) error {
	if len(args) != 2 {
		return errors.New("this command is started by a server; it is not for interactive use")
	}
	memory, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("bytes of memory: %w", err)
	}
	if err := Confine(memory); err != nil {
		return err
	}
	binary, err := io.ReadAll(io.LimitReader(wasm, defaultModule+1))
	if err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	// The memory limit of this process replaces the estimate.
	e, err := New(Options{CacheDir: args[0], CompileMemory: math.MaxInt64})
	if err != nil {
		return err
	}
	m, err := e.Load(ctx, binary)
	if err == nil {
		m.Close()
	}
	return errors.Join(err, e.Close())
}

// firstBytes keeps the first bytes written to it: an error is explained before its
// stack traces.
type firstBytes struct{ b bytes.Buffer }

const maxStderr = 4 << 10 // bytes

// refusal decodes the Refusal that the subprocess has written.
func (w *firstBytes) refusal() error {
	r := &Refusal{}
	if err := json.Unmarshal(w.b.Bytes(), r); err != nil {
		return fmt.Errorf("compile in a subprocess: read why it is refused: %w", err)
	}
	r.Problem, r.Hint = printable(r.Problem), printable(r.Hint)
	return r
}

func (w *firstBytes) Write(p []byte) (int, error) {
	w.b.Write(p[:min(len(p), maxStderr-w.b.Len())])
	return len(p), nil
}

func (w *firstBytes) String() string { return printable(strings.TrimSpace(w.b.String())) }

// line returns the first line, which gives the reason.
func (w *firstBytes) line() string {
	line, _, _ := strings.Cut(w.b.String(), "\n")
	return printable(line)
}
