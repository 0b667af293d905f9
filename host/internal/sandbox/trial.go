package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero"
)

// A compilation that needs more memory than the estimate says may end the whole
// server, and would do so again at each start. So a file says which modules are
// being compiled: whoever finds one of a process that is gone compiles that
// module once more, in a process of its own, and if that dies too, the server
// refuses the module. Where the estimate leaves it in doubt whether there is
// enough memory, the process of its own comes first. Nothing is synced to the disk: what a power cut
// takes is a file about a compilation that the module did not end.

// trialStage says how far the compilation of a module came.
type trialStage string

const (
	trialNone       trialStage = ""        // nothing is known against the module
	trialServer     trialStage = "server"  // begun in the process of the server
	trialSubprocess trialStage = "apart"   // begun in a process of its own
	trialRefused    trialStage = "refused" // that process died
)

// maxTrials is how often a module is compiled apart while the server itself dies
// each time. A kill or a power cut ends both and says nothing about the module,
// so one or two such ends mean nothing.
const maxTrials = 3

// trial is what the file of a module says.
type trial struct {
	Stage trialStage `json:"stage"`
	Ends  int        `json:"ends,omitempty"` // of servers while the module was compiled apart
	Why   string     `json:"why,omitempty"`  // of a refusal
	Setup trialSetup `json:"setup"`
}

// trialSetup is what the outcome of a compilation depends on beside the module.
// What another setup left says nothing.
type trialSetup struct {
	Host   string `json:"host"`
	Engine string `json:"engine"`
	Memory uint64 `json:"memory"` // bytes for compiling
}

const maxTrialFile = 4 << 10 // bytes

// trials are the files of a directory; the empty value keeps none.
type trials struct {
	dir   string
	setup trialSetup
}

// trialsOf are those of the server that has its cache in a directory.
func trialsOf(cacheDir string, memory uint64) trials {
	host, engine := versions()
	return trials{filepath.Join(cacheDir, "trials"), trialSetup{host, engine, memory}}
}

func openTrials(cacheDir string, memory uint64) (trials, error) {
	t := trialsOf(cacheDir, memory)
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return trials{}, fmt.Errorf("make the directory of compilations: %w", err)
	}
	return t, nil
}

// versions are those of this program and of the engine.
func versions() (host, engine string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	host = info.Main.Version + " " + runtime.Version()
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			host += " " + s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/tetratelabs/wazero" {
			engine = d.Version
		}
	}
	return host, engine
}

func (t trials) file(digest string) string { return filepath.Join(t.dir, digest+".json") }

// readTrial gives what is known of a module under this setup.
func (t trials) readTrial(digest string) (trial, error) {
	of, err := t.readAnyTrial(digest)
	if of.Setup != t.setup {
		return trial{}, err
	}
	return of, err
}

// readAnyTrial gives what is known of a module, under whatever setup.
func (t trials) readAnyTrial(digest string) (of trial, err error) {
	if t.dir == "" {
		return trial{}, nil
	}
	f, err := os.Open(t.file(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return trial{}, nil
	}
	if err != nil {
		return trial{}, fmt.Errorf("read what became of a compilation: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	if err := json.NewDecoder(io.LimitReader(f, maxTrialFile)).Decode(&of); err != nil {
		return trial{}, nil // a power cut has cut it off
	}
	return of, nil
}

// writeTrial notes the stage of a module.
func (t trials) writeTrial(digest string, of trial) error {
	if t.dir == "" {
		return nil
	}
	of.Setup = t.setup
	text, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("note a compilation: %w", err)
	}
	if err := os.WriteFile(t.file(digest), text, 0o600); err != nil {
		return fmt.Errorf("note a compilation: %w", err)
	}
	return nil
}

// forgetTrial removes what is known of a module.
func (t trials) forgetTrial(digest string) error {
	if t.dir == "" {
		return nil
	}
	if err := os.Remove(t.file(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget a compilation: %w", err)
	}
	return nil
}

// restoreTrial notes that a compilation apart has come to nothing, and what was known
// before it still holds.
func (t trials) restoreTrial(digest string, before trial) error {
	if before.Stage == trialNone {
		return t.forgetTrial(digest)
	}
	return t.writeTrial(digest, trial{Stage: trialServer, Ends: before.Ends})
}

// nextTrial is the stage in which a module is to be compiled, after what was left of
// earlier tries.
func (of trial) nextTrial() trial {
	switch of.Stage {
	case trialNone:
		return trial{Stage: trialServer}
	case trialServer:
		return trial{Stage: trialSubprocess, Ends: of.Ends}
	case trialSubprocess:
		if of.Ends++; of.Ends < maxTrials {
			return trial{Stage: trialSubprocess, Ends: of.Ends}
		}
		return trial{Stage: trialRefused, Why: "the server died " + strconv.Itoa(of.Ends) + " times while the module was compiled in a process of its own"}
	case trialRefused:
	}
	return of
}

// compileTracked compiles a module, whose metered code is out, in the stage that comes
// after what is known of it. cost is the memory that compiling takes.
func (e *Engine) compileTracked(ctx context.Context, digest string, binary, out []byte, cost uint64) (code wazero.CompiledModule, err error) {
	before, err := e.trials.readTrial(digest)
	if err != nil {
		return nil, err
	}
	now := before.nextTrial()
	doubtful := e.queue.mayNotFit(cost)
	if doubtful && now.Stage == trialServer {
		now.Stage = trialSubprocess
	}
	switch err := e.trials.writeTrial(digest, now); {
	case err == nil:
	case now.Stage == trialServer && cost <= e.queue.small:
		e.log.Warn("compiled without a note on disk that it was begun", slog.String("digest", digest), slog.Any("err", err))
	default:
		// Without the note it could end each start of the server.
		return nil, err
	}
	if now.Stage == trialSubprocess {
		if before.Stage != trialNone {
			e.log.Warn("the server ended while it compiled a module; a process of its own compiles that now", "digest", digest)
		}
		var died *diedError
		switch err := e.compileInSubprocess(ctx, binary); {
		case errors.As(err, &died):
			now = trial{Stage: trialRefused, Why: "compiling the module ended the server, and then " + died.Error()}
			if before.Stage == trialNone {
				now.Why = e.queue.tooBig(cost).Problem + ", and " + died.Error()
			}
			if err := e.trials.writeTrial(digest, now); err != nil {
				return nil, err
			}
		case err != nil: // of no fault of the module
			return nil, errors.Join(err, e.trials.restoreTrial(digest, before))
		}
	}
	if now.Stage == trialRefused {
		if before.Stage != trialRefused {
			e.log.Error("a module is refused, as compiling it ended processes of this server", "digest", digest, "why", now.Why)
			if e.refused != nil {
				e.refused(digest, now.Why)
			}
		}
		return nil, now.refusal()
	}
	code, err = e.compile(out)
	return code, errors.Join(err, e.trials.forgetTrial(digest))
}

// refusal is the error for a module whose compilation has died.
func (of trial) refusal() *Refusal {
	return &Refusal{
		Reason:  CompileDied,
		Problem: of.Why,
		Hint:    "this server does not try again until it, or its memory, is another; wasmjobd module retry DIGEST has it try now",
	}
}

// RetryModule has the server whose cache is in a directory try a module again
// that it refuses because compiling it ended processes.
func RetryModule(cacheDir, digest string) error { return trialsOf(cacheDir, 0).forgetTrial(digest) }

// RefusedModules are the modules, by digest, that the server whose cache is in a
// directory refuses because compiling them ended processes, each with the reason.
func RefusedModules(cacheDir string) (map[string]string, error) {
	t := trialsOf(cacheDir, 0)
	files, err := glob(t.dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("look for refused modules: %w", err)
	}
	refused := map[string]string{}
	for _, f := range files {
		digest := strings.TrimSuffix(filepath.Base(f), ".json")
		of, err := t.readAnyTrial(digest)
		if err != nil {
			return nil, err
		}
		t.setup.Memory = of.Setup.Memory // only that server knows it
		if of.Stage == trialRefused && of.Setup == t.setup {
			refused[digest] = of.refusal().Error()
		}
	}
	return refused, nil
}
