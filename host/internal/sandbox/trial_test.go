package sandbox

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// compileArg makes the test program act as the compiler of Options.Compiler.
const compileArg = "compile-apart"

// serverEngine opens an engine as a server does at its start.
func serverEngine(t *testing.T, dir string, compiler []string, refused func(digest, why string)) *Engine {
	t.Helper()
	e, err := New(Options{CacheDir: dir, CompileMemory: 256 << 20, Compiler: compiler, Refused: refused})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func soundCompiler(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, compileArg}
}

// dyingCompiler dies like a process without memory.
func dyingCompiler() []string { return []string{"/bin/sh", "-c", "kill -9 $$"} }

// killedWhile writes the record to dir that a server leaves if it dies in a stage of
// compiling the module.
func killedWhile(t *testing.T, dir string, binary []byte, of trial) {
	t.Helper()
	e := serverEngine(t, dir, nil, nil)
	if err := e.trials.writeTrial(digestOf(binary), of); err != nil {
		t.Fatal(err)
	}
}

func stageOf(t *testing.T, e *Engine, binary []byte) trialStage {
	t.Helper()
	of, err := e.trials.readTrial(digestOf(binary))
	if err != nil {
		t.Fatal(err)
	}
	return of.Stage
}

// A server that is killed while it compiles a harmless module does not ban it.
func TestAnInnocentModuleIsCompiledInASubprocess(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i32(3))
	for _, left := range []trial{{Stage: trialServer}, {Stage: trialSubprocess}, {Stage: trialSubprocess, Ends: maxTrials - 2}} {
		killedWhile(t, dir, binary, left)
		e := serverEngine(t, dir, soundCompiler(t), func(_, why string) { t.Error(why) })
		expect(t, e.Run(t.Context(), load(t, e, binary), job.Call{}), job.Nothing, "")
		if s := stageOf(t, e, binary); s != trialNone {
			t.Errorf("after %v the stage is %q", left, s)
		}
		files, err := cachedFiles(dir)
		if err != nil || len(files) != 2 || !hasValidSeal(strings.TrimSuffix(files[0], sealSuffix), cacheKey(dir)) {
			t.Errorf("what was compiled apart is not in the cache: %v, %v", files, err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "apart-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if err := emptyCache(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A module that ends the subprocess as well is refused, also at later starts without
// another compilation, until an operator requests a retry.
func TestAModuleThatEndsItsCompilerIsRefused(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i32(3))
	killedWhile(t, dir, binary, trial{Stage: trialServer})
	refused := make(chan string, 10)
	onRefused := func(digest, _ string) { refused <- digest }
	for range 2 {
		_, err := serverEngine(t, dir, dyingCompiler(), onRefused).Load(t.Context(), binary)
		wantRefusal(t, err, CompileDied, "killed")
	}
	if len(refused) != 1 || <-refused != digestOf(binary) {
		t.Error("the refusal is not reported exactly once")
	}
	// Another module is compiled as usual.
	e := serverEngine(t, dir, dyingCompiler(), onRefused)
	load(t, e, (&builder{}).job(i32(4)))
	if err := RetryModule(dir, digestOf(binary)); err != nil {
		t.Fatal(err)
	}
	load(t, e, binary)
}

// The server may die together with the subprocess each time, as everything in a container
// does that has no memory left.
func TestAModuleThatEndsEveryProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i32(3))
	killedWhile(t, dir, binary, trial{Stage: trialSubprocess, Ends: maxTrials - 1})
	_, err := serverEngine(t, dir, soundCompiler(t), nil).Load(t.Context(), binary)
	wantRefusal(t, err, CompileDied, "3 times")
}

func TestAnotherSetupTriesAgain(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i32(3))
	for name, change := range map[string]func(*trialSetup){
		"host":   func(s *trialSetup) { s.Host = "older" },
		"engine": func(s *trialSetup) { s.Engine = "older" },
		"memory": func(s *trialSetup) { s.Memory-- },
	} {
		e := serverEngine(t, dir, dyingCompiler(), nil)
		of := e.trials
		change(&of.setup)
		if err := of.writeTrial(digestOf(binary), trial{Stage: trialRefused, Why: "x"}); err != nil {
			t.Fatal(err)
		}
		if m, err := e.Load(t.Context(), binary); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			m.Close()
		}
	}
}

// A server that is killed while it writes a record keeps the earlier one.
func TestARecordIsReplacedWhole(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i32(3))
	killedWhile(t, dir, binary, trial{Stage: trialServer})
	e := serverEngine(t, dir, nil, nil)
	if err := os.Mkdir(e.trials.file(digestOf(binary))+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := e.trials.writeTrial(digestOf(binary), trial{Stage: trialSubprocess}); err == nil {
		t.Error("it was written in place")
	}
	if got := stageOf(t, e, binary); got != trialServer {
		t.Errorf("left: %q", got)
	}
}

// Neither an orderly end of the server while it waits for the subprocess nor a full disk
// is held against the module.
func TestAnEndInOrderIsNoDeath(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i32(3))
	killedWhile(t, dir, binary, trial{Stage: trialServer, Ends: 1})
	ready := filepath.Join(t.TempDir(), "ready")
	if err := os.Mkdir(ready, 0o700); err != nil {
		t.Fatal(err)
	}
	// The compiler removes the directory, and then waits until it is ended.
	e, err := New(Options{CacheDir: dir, CompileMemory: 256 << 20, Compiler: []string{"/bin/sh", "-c", "read -r _; /bin/rmdir " + ready + "; exec /bin/sleep 60", "sh"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := e.Load(ctx, binary)
		gaveUp <- err
	}()
	for _, err := os.Stat(ready); err == nil; _, err = os.Stat(ready) {
		if ctx.Err() != nil {
			t.Fatal("the process did not start")
		}
	}
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if of, err := e.trials.readTrial(digestOf(binary)); err != nil || of.Stage != trialServer || of.Ends != 1 {
		t.Errorf("%+v, %v", of, err)
	}
	e = serverEngine(t, dir, []string{"/bin/sh", "-c", "echo the disk is full >&2; exit 3"}, nil)
	if _, err := e.Load(t.Context(), binary); err == nil || !strings.Contains(err.Error(), "disk is full") || stageOf(t, e, binary) != trialServer {
		t.Errorf("%v, stage %q", err, stageOf(t, e, binary))
	}
	// Neither does it make up for an end of the server while a subprocess compiled the module.
	killedWhile(t, dir, binary, trial{Stage: trialSubprocess, Ends: 1})
	if _, err := e.Load(t.Context(), binary); err == nil {
		t.Error("the disk is full")
	}
	if of, err := e.trials.readTrial(digestOf(binary)); err != nil || of.Ends != 2 {
		t.Errorf("%+v, %v", of, err)
	}
}

// A signal that ends the subprocess is not the module's fault: Ctrl-C in a terminal,
// and the end of a service, reach it together with the server.
func TestACompilerThatIsAskedToEndHasNotDied(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		if signal.Ignored(of) {
			continue // as HUP under nohup: then the process cannot be ended that way
		}
		dir, binary := t.TempDir(), (&builder{}).job(i32(3))
		killedWhile(t, dir, binary, trial{Stage: trialServer})
		e := serverEngine(t, dir, []string{"/bin/sh", "-c", "kill -" + name + " $$"}, func(_, why string) { t.Error(why) })
		_, err := e.Load(t.Context(), binary)
		if r, refused := errors.AsType[*Refusal](err); err == nil || refused || stageOf(t, e, binary) != trialServer {
			t.Errorf("%s: %v, refusal %v, stage %q", name, err, r, stageOf(t, e, binary))
		}
	}
}

// If the subprocess came first because memory may be insufficient, and it could not
// compile anything, nothing is recorded against the module.
func TestADoubtThatIsNotSettledLeavesNoNote(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), hungryToCompile()
	e := serverEngine(t, dir, []string{"/bin/sh", "-c", "echo the disk is full >&2; exit 3"}, nil)
	e.queue = newCompileQueue(128 << 20) // less than its estimate, and more than half of that
	if _, err := e.Load(t.Context(), binary); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Error(err)
	}
	if s := stageOf(t, e, binary); s != trialNone {
		t.Errorf("the stage is %q", s)
	}
}

// A module that the engine refuses is also refused by the subprocess, and compiled only
// once: a job may load it every second.
func TestAModuleThatASubprocessRefusesIsRefused(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), (&builder{}).job(i64(3)) // not the type of the result
	killedWhile(t, dir, binary, trial{Stage: trialServer})
	e := serverEngine(t, dir, soundCompiler(t), func(_, why string) { t.Error(why) })
	_, err := e.Load(t.Context(), binary)
	wantRefusal(t, err, Damaged, "not valid")
	e.compiler = dyingCompiler()
	_, err = e.Load(t.Context(), binary)
	wantRefusal(t, err, Damaged, "not valid")
}

// The subprocess is limited: a compilation that needs more ends it, not the machine.
func TestTheCompilerIsBounded(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), hungryToCompile()
	killedWhile(t, dir, binary, trial{Stage: trialServer})
	e := serverEngine(t, dir, soundCompiler(t), nil)
	if err := e.compileInSubprocess(t.Context(), binary); err != nil {
		t.Errorf("with enough memory: %v", err)
	}
	e.queue = newCompileQueue(20 << 20)
	var died *diedError
	if err := e.compileInSubprocess(t.Context(), binary); !errors.As(err, &died) {
		t.Errorf("with too little: %v", err)
	}
}

// hungryToCompile is a module that takes about 100 MB to compile.
func hungryToCompile() []byte {
	b := &builder{}
	var code []byte
	for range 200_000 {
		code = append(code, 0x20, 0, 0x6a)
	}
	b.fn("", "", 1, getLocal(0), code, op(opDrop))
	return b.job(i32(3))
}
