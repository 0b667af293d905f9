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
	"time"

	"github.com/tetratelabs/wazero"
)

// A compilation that needs more memory than estimated may end the server, and would
// do so at each start. Therefore a file records each compilation in progress. If a
// server finds the file of a process that has ended, it compiles the module again in a
// subprocess, and refuses the module if that dies as well. If the estimate may exceed
// the memory, the subprocess comes first. The files are not synced to disk: a power
// failure can only lose records of compilations that the module did not end. A kill
// leaves either the earlier record or the whole new one.

// trialStage is the stage of a module's compilation.
type trialStage string

const (
	trialNone       trialStage = ""        // no problem is known
	trialServer     trialStage = "server"  // begun in the server's process
	trialSubprocess trialStage = "apart"   // begun in a subprocess
	trialRefused    trialStage = "refused" // the subprocess died
)

// maxTrials is how often a module is compiled in a subprocess if the server dies
// each time as well. A kill or a power failure ends both and says nothing about the
// module, so one or two such ends are ignored.
const maxTrials = 3

// trial is the content of a module's file.
type trial struct {
	Stage trialStage `json:"stage"`
	Ends  int        `json:"ends,omitempty"` // ends of the server during a compilation in a subprocess
	Why   string     `json:"why,omitempty"`  // reason of a refusal
	Setup trialSetup `json:"setup"`
}

// trialSetup is what the outcome of a compilation depends on besides the module.
// Files of another setup are ignored.
type trialSetup struct {
	Host   string `json:"host"`
	Engine string `json:"engine"`
	Memory uint64 `json:"memory"` // bytes for compiling
}

const maxTrialFile = 4 << 10 // bytes

// trials are the files in a directory. The zero value stores nothing.
type trials struct {
	dir   string
	setup trialSetup
}

// trialsOf returns the trials of the server with a cache directory.
func trialsOf(cacheDir string, memory uint64) trials {
	host, engine := versions()
	return trials{filepath.Join(cacheDir, "trials"), trialSetup{host, engine, memory}}
}

// openTrials creates the directory of the trials if necessary.
func openTrials(cacheDir string, memory uint64) (trials, error) {
	t := trialsOf(cacheDir, memory)
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return trials{}, fmt.Errorf("create the directory of compilation records: %w", err)
	}
	return t, nil
}

// versions returns what identifies this program and its engine. After an update of either,
// a module gets a new trial.
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

// readTrial returns the result of a module's trial under this setup.
func (t trials) readTrial(digest string) (trial, error) {
	record, err := t.readAnyTrial(digest)
	if record.Setup != t.setup {
		return trial{}, err
	}
	return record, err
}

// readAnyTrial returns the record of a module under any setup.
func (t trials) readAnyTrial(digest string) (record trial, err error) {
	if t.dir == "" {
		return trial{}, nil
	}
	f, err := os.Open(t.file(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return trial{}, nil
	}
	if err != nil {
		return trial{}, fmt.Errorf("read the record of a compilation: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read from
	if err := json.NewDecoder(io.LimitReader(f, maxTrialFile)).Decode(&record); err != nil {
		return trial{}, nil // truncated by a power failure
	}
	return record, nil
}

// writeTrial records the stage of a module.
func (t trials) writeTrial(digest string, record trial) error {
	if t.dir == "" {
		return nil
	}
	record.Setup = t.setup
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("record a compilation: %w", err)
	}
	written := t.file(digest) + ".new"
	err = os.WriteFile(written, text, 0o600)
	if err == nil {
		err = os.Rename(written, t.file(digest))
	}
	if err != nil {
		return fmt.Errorf("record a compilation: %w", err)
	}
	return nil
}

// forgetTrial removes the record of a module.
func (t trials) forgetTrial(digest string) error {
	if t.dir == "" {
		return nil
	}
	if err := os.Remove(t.file(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of a compilation: %w", err)
	}
	return nil
}

// restoreTrial restores the record from before a compilation in a subprocess that ended
// without a result. ends is the number of times that the server has ended during one.
func (t trials) restoreTrial(digest string, before trial, ends int) error {
	if before.Stage == trialNone {
		return t.forgetTrial(digest)
	}
	// The stage that leads to a subprocess again, without another end counted.
	return t.writeTrial(digest, trial{Stage: trialServer, Ends: ends})
}

// nextTrial returns the stage for the next compilation, given the record of earlier
// ones.
func (t trial) nextTrial() trial {
	switch t.Stage {
	case trialNone:
		return trial{Stage: trialServer}
	case trialServer:
		return trial{Stage: trialSubprocess, Ends: t.Ends}
	case trialSubprocess:
		if t.Ends++; t.Ends < maxTrials {
			return trial{Stage: trialSubprocess, Ends: t.Ends}
		}
		return trial{Stage: trialRefused, Why: "the server died " + strconv.Itoa(t.Ends) + " times while the module was compiled in a subprocess"}
	case trialRefused:
	}
	return t
}

// compileTracked compiles a module in the stage that follows from its record. cost is
// the memory that compiling takes.
func (e *Engine) compileTracked(ctx context.Context, digest string, binary, metered []byte, cost uint64) (code wazero.CompiledModule, err error) {
	before, err := e.trials.readTrial(digest)
	if err != nil {
		return nil, err
	}
	current := before.nextTrial()
	if current.Stage == trialServer && e.queue.mayNotFit(cost) {
		current.Stage = trialSubprocess
	}
	switch err := e.trials.writeTrial(digest, current); {
	case err == nil:
	case current.Stage == trialServer && cost <= e.queue.small: // a small one hardly ends the server
		e.log.Warn("cannot record that a compilation has begun", slog.String("digest", digest), slog.Any("err", err))
	default:
		// Without the record it could end each start of the server.
		return nil, err
	}
	if current.Stage == trialSubprocess {
		if before.Stage != trialNone {
			e.log.Warn("the server ended while it compiled a module; a subprocess compiles it now", "digest", digest)
		}
		var died *diedError
		switch err := e.compileInSubprocess(ctx, binary); {
		case errors.As(err, &died):
			current = trial{Stage: trialRefused, Why: "compiling the module ended the server, and then " + died.Error()}
			if before.Stage == trialNone { // the server did not try, because of the estimate
				current.Why = e.queue.tooBigRefusal(cost).Problem + ", and " + died.Error()
			}
			if err := e.trials.writeTrial(digest, current); err != nil {
				return nil, err
			}
		case err != nil: // not the module's fault
			return nil, errors.Join(err, e.trials.restoreTrial(digest, before, current.Ends))
		}
	}
	if current.Stage == trialRefused {
		if before.Stage != trialRefused {
			e.log.Error("module refused: compiling it ended processes of this server", "digest", digest, "why", current.Why)
			if e.refused != nil {
				e.refused(digest, current.Why)
			}
		}
		return nil, current.refusal()
	}
	began := time.Now()
	if code, err = e.compile(metered); err == nil && e.compiled != nil {
		e.compiled(digest, time.Since(began))
	}
	return code, errors.Join(err, e.trials.forgetTrial(digest))
}

// refusal returns the error for a module whose compilation died.
func (t trial) refusal() *Refusal {
	return &Refusal{
		Reason:  CompileDied,
		Problem: t.Why,
		Hint:    "this server tries again after an update or a change of its memory; to try now, run wasmjobd module retry DIGEST",
	}
}

// RetryModule makes the server with a cache directory try a module again that it
// refuses because compiling it ended processes.
func RetryModule(cacheDir, digest string) error { return trialsOf(cacheDir, 0).forgetTrial(digest) }

// RefusedModules returns the modules that the server with a cache directory refuses
// because compiling them ended processes, with the reasons by digest.
func RefusedModules(cacheDir string) (map[string]string, error) {
	t := trialsOf(cacheDir, 0)
	files, err := glob(t.dir, "*.json")
	if err != nil {
		return nil, fmt.Errorf("look for refused modules: %w", err)
	}
	refused := map[string]string{}
	for _, f := range files {
		digest := strings.TrimSuffix(filepath.Base(f), ".json")
		record, err := t.readAnyTrial(digest)
		if err != nil {
			return nil, err
		}
		t.setup.Memory = record.Setup.Memory // known to that server only, so any value counts
		if record.Stage == trialRefused && record.Setup == t.setup {
			refused[digest] = record.refusal().Error()
		}
	}
	return refused, nil
}
