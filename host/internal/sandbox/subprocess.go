package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// subprocessTimeout is how long a compilation in a process of its own may take; the
// bounds of effort.go allow a few minutes on a slow machine.
const subprocessTimeout = 15 * time.Minute

// exitFault is how that process ends when it has compiled nothing and has said
// why: a disk is full, for example. Any other end but 0 is that it died.
const exitFault = 3

// exitNoMemory is how it ends when the system refuses it memory and it could
// still say so.
const exitNoMemory = 4

// exitRefused is how it ends when it refuses the module; it says the Refusal as JSON.
const exitRefused = 5

// serverPipeFD is open in the process as long as the server lives.
const serverPipeFD = 3

// diedError is that the process which compiled a module died.
type diedError struct{ how string }

func (e *diedError) Error() string { return "a process of its own that compiled it " + e.how }

// compileInSubprocess has a process of its own compile a module, and puts what comes of
// it into the cache. The error is a *diedError if the process died of the module.
func (e *Engine) compileInSubprocess(ctx context.Context, binary []byte) (err error) {
	if len(e.compiler) == 0 {
		return &diedError{"cannot be started, as this program has no command for that"}
	}
	dir, err := os.MkdirTemp(e.dir, "apart-")
	if err != nil {
		return fmt.Errorf("compile a module apart: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cache := filepath.Join(dir, "cache") // with its key beside it
	serverPipe, keepOpen, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("compile a module apart: %w", err)
	}
	defer keepOpen.Close()   //nolint:errcheck // nothing was written
	defer serverPipe.Close() //nolint:errcheck // nor read

	timeoutCtx, cancel := context.WithTimeout(ctx, subprocessTimeout)
	defer cancel()
	args := append(e.compiler[1:len(e.compiler):len(e.compiler)], cache, strconv.FormatUint(e.queue.maxSingle(), 10))
	cmd := exec.CommandContext(timeoutCtx, e.compiler[0], args...) //nolint:gosec // the embedder's own program
	cmd.Args[0] = os.Args[0]                                       // it goes by the name of this process
	cmd.Env = []string{}                                           // it needs none, and the server's has secrets
	cmd.Stdin, cmd.ExtraFiles = bytes.NewReader(binary), []*os.File{serverPipe}
	stderr := &firstBytes{}
	cmd.Stderr = stderr
	err = cmd.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return e.moveToCache(cache)
	case ctx.Err() != nil:
		return fmt.Errorf("compile a module apart: %w", ctx.Err())
	case timeoutCtx.Err() != nil:
		return &diedError{"took longer than " + subprocessTimeout.String()}
	case !exited:
		return fmt.Errorf("compile a module apart: %w", err)
	case terminated(exit):
		return fmt.Errorf("compile a module apart: somebody ended the process: %w", exit)
	case exit.ExitCode() == exitRefused:
		return stderr.refusal()
	case exit.ExitCode() == exitFault:
		return fmt.Errorf("compile a module apart: %s", stderr)
	case exit.ExitCode() == exitNoMemory:
		return &diedError{"got no more memory (" + stderr.line() + ")"}
	}
	return &diedError{"died (" + strings.TrimSpace(exit.String()+" "+stderr.line()) + ")"}
}

// terminated tells whether a process was ended by a signal for which no module is
// the reason: a terminal or a service sends it to the server as well, which may go
// on for a while.
func terminated(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false
	}
	return slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}, status.Signal())
}

// moveToCache moves what was compiled apart into the cache.
func (e *Engine) moveToCache(dir string) error {
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) {
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

// removeSubprocessDirs removes what processes left that ended with their server.
func removeSubprocessDirs(dir string) error {
	left, err := glob(dir, "apart-*")
	if err != nil {
		return fmt.Errorf("look for compilations that broke off: %w", err)
	}
	for _, d := range left {
		if err := os.RemoveAll(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a compilation that broke off: %w", err)
		}
	}
	return nil
}

// CompileInSubprocess is all that the process does which Options.Compiler starts: args
// are the last two of its command line. It compiles the module that it reads,
// within bounds of its own, and gives the process its exit code.
func CompileInSubprocess(ctx context.Context, args []string, wasm io.Reader, stderr io.Writer) (exit int) {
	err := compileInto(ctx, args, wasm)
	if err == nil {
		return 0
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		_ = json.NewEncoder(stderr).Encode(r) // if it fails, the server says that there was none
		return exitRefused
	}
	fmt.Fprintln(stderr, err)
	if errors.Is(err, syscall.ENOMEM) {
		return exitNoMemory
	}
	return exitFault
}

func compileInto(ctx context.Context, args []string, wasm io.Reader) error {
	if len(args) != 2 {
		return errors.New("a server starts this command; there is nothing to see for people")
	}
	memory, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("bytes of memory: %w", err)
	}
	debug.SetMemoryLimit(memory)
	if err := limitProcess(memory); err != nil {
		return err
	}
	go func() { // without the server nobody needs the result
		_, _ = io.Copy(io.Discard, os.NewFile(serverPipeFD, "the server"))
		os.Exit(exitFault)
	}()
	binary, err := io.ReadAll(io.LimitReader(wasm, defaultModule+1))
	if err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	// The limit of this process bounds it, and no estimate.
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

// firstBytes keeps the first of what is written to it: an end is explained
// before its stacks.
type firstBytes struct{ b bytes.Buffer }

const maxStderr = 4 << 10 // bytes

// refusal is what the process said of the module.
func (w *firstBytes) refusal() error {
	r := &Refusal{}
	if err := json.Unmarshal(w.b.Bytes(), r); err != nil {
		return fmt.Errorf("compile a module apart: read why it is refused: %w", err)
	}
	r.Problem, r.Hint = printable(r.Problem), printable(r.Hint)
	return r
}

// Write implements io.Writer.
func (w *firstBytes) Write(p []byte) (int, error) {
	w.b.Write(p[:min(len(p), maxStderr-w.b.Len())])
	return len(p), nil
}

func (w *firstBytes) String() string { return printable(strings.TrimSpace(w.b.String())) }

func (w *firstBytes) line() string {
	line, _, _ := strings.Cut(w.b.String(), "\n")
	return printable(line)
}
