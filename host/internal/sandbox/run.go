package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	defaultGrace = 2 * time.Second
	maxFailure   = 16 << 10 // bytes of Outcome.Error
)

// run is one call in progress. The host functions find it in their context;
// as an instance runs on one goroutine, nothing here needs a lock.
type run struct {
	facts       *facts
	soft        time.Time // the deadline; zero: none
	journal     *journal
	stderr      tail
	mem         linearMemory
	resultLimit int64

	calls       int64
	result      []byte
	message     string
	done, total int64
	told        time.Time
}

type runKey struct{}

func runOf(ctx context.Context) *run { return ctx.Value(runKey{}).(*run) }

func (r *run) overdue() bool { return !r.soft.IsZero() && !time.Now().Before(r.soft) }

// Run executes one attempt in an instance of its own and destroys it. It
// returns when the guest has ended: by itself, at its deadline plus grace, or
// because ctx was cancelled. A call that ends after its deadline is a Deadline
// whatever it returned; one that ctx ended is Stopped.
func (e *Engine) Run(ctx context.Context, m *Module, c job.Call) job.Outcome {
	began := time.Now()
	out := job.Outcome{Digest: m.c.digest}
	refuse := func(format string, args ...any) job.Outcome {
		out.Verdict, out.Error = job.Failure, fmt.Sprintf(format, args...)
		return out
	}
	if !e.enter() {
		return refuse("%v", ErrClosed)
	}
	defer e.runs.Done()
	if !m.c.hold() {
		return refuse("module %s was closed", m.c.digest)
	}
	defer m.c.release()

	r := newRun(c, m.c.digest, began)
	if m.c.memory > r.mem.limit {
		return refuse("the module needs %d bytes of memory to begin with, the limit is %d; raise limits.memory", m.c.memory, r.mem.limit)
	}
	// The two may end together: the caller's context and the engine's life.
	hard, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	if !r.soft.IsZero() {
		hard, cancel = context.WithDeadline(hard, r.soft.Add(r.grace()))
		defer cancel()
	}
	hard = context.WithValue(hard, runKey{}, r)
	hard = experimental.WithMemoryAllocator(hard, &r.mem)

	dirs, closeDirs, err := grantedDirs(hard, c.Config.Allow.Dirs)
	if err != nil {
		return refuse("%v", err)
	}
	defer closeDirs()
	if err := r.mem.open(m.c.most); err != nil {
		return refuse("there is no memory for the module: %v", err)
	}
	defer r.mem.release()

	code, err := e.execute(hard, m.c, r, dirs)
	r.journal.tellDropped(ctx)
	ended := ctx.Err() != nil || e.life.Err() != nil
	r.judge(&out, code, err, ended)
	out.Took = time.Since(began)
	return out
}

func newRun(c job.Call, digest string, began time.Time) *run {
	limits := c.Config.Limits
	r := &run{resultLimit: limits.Result}
	if c.Config.Timeout > 0 {
		r.soft = began.Add(c.Config.Timeout)
	}
	if r.resultLimit <= 0 {
		r.resultLimit = defaultResult
	}
	r.facts = newFacts(c, digest, began, r.soft)
	r.mem.limit = defaultMemory
	if limits.Memory > 0 {
		r.mem.limit = min(uint64(limits.Memory), maxPages*pageSize) / pageSize * pageSize
	}
	r.journal = &journal{line: defaultLogLine, rate: defaultLogRate, filled: began}
	if limits.LogLine > 0 {
		r.journal.line = int(min(limits.LogLine, 1<<20))
	}
	if limits.LogRate > 0 {
		r.journal.rate = limits.LogRate
	}
	r.journal.tokens = float64(r.journal.rate)
	if c.Log != nil {
		r.journal.log = c.Log.With(slog.String("job", c.Config.Name), slog.Int("item", c.Item),
			slog.String("task", c.TaskID), slog.String("module", digest))
	}
	return r
}

func (r *run) grace() time.Duration {
	if g := r.facts.call.Config.Limits.Grace; g > 0 {
		return g
	}
	return defaultGrace
}

// execute makes the instance, calls it and destroys it.
func (e *Engine) execute(ctx context.Context, c *compilation, r *run, dirs wazero.FSConfig) (int32, error) {
	stdout := &lineWriter{ctx: ctx, j: r.journal, level: slog.LevelInfo}
	stderr := &lineWriter{ctx: ctx, j: r.journal, level: slog.LevelWarn, tail: &r.stderr}
	defer stdout.flush()
	defer stderr.flush()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdout(stdout).WithStderr(stderr).WithFSConfig(dirs).WithRandSource(randomness(r.facts))
	config = withClock(ctx, config, r.facts.call)
	env := r.facts.call.Config.Allow.Env
	for _, k := range slices.Sorted(maps.Keys(env)) {
		config = config.WithEnv(k, env[k])
	}
	mod, err := e.rt.InstantiateModule(ctx, c.code, config)
	if err != nil {
		return 0, fmt.Errorf("start the module: %w", err)
	}
	// The run's context may be over, and closing must not depend on that.
	defer mod.Close(context.WithoutCancel(ctx)) //nolint:errcheck // files of the guest, read only
	if c.init {
		if _, err := invoke(ctx, mod, abi.ExportInitialize); err != nil {
			return 0, err
		}
	}
	return invoke(ctx, mod, abi.ExportExecute)
}

// invoke calls one export and returns its result, if it has one.
func invoke(ctx context.Context, mod api.Module, name string) (int32, error) {
	results, err := mod.ExportedFunction(name).Call(ctx)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	// After an exit the runtime may return as if nothing had happened.
	if mod.IsClosed() {
		return 0, fmt.Errorf("%s: the instance was closed", name)
	}
	if len(results) == 0 {
		return 0, nil
	}
	return api.DecodeI32(results[0]), nil
}

// judge turns what happened into the outcome.
func (r *run) judge(out *job.Outcome, code int32, err error, ended bool) {
	out.Code, out.Result = code, r.result
	out.PeakBytes, out.HostCalls = int64(r.mem.peak), r.calls
	switch {
	case err != nil && ended:
		out.Verdict = job.Stopped
		out.Error = "ended because the run was cancelled"
	case r.overdue():
		out.Verdict = job.Deadline
		out.Error = r.late(err)
	case err != nil:
		out.Verdict = job.Failure
		out.Error = r.trap(err)
	default:
		out.Verdict, out.Error = r.returned(code)
	}
	if out.Verdict != job.OK && out.Verdict != job.Nothing {
		if text := r.stderr.String(); text != "" {
			out.Error += "\nstderr:\n" + text
		}
		out.Error = clip(out.Error, maxFailure)
	}
}

// returned explains a result code.
func (r *run) returned(code int32) (job.Verdict, string) {
	say := func(text string) string {
		if r.message != "" {
			return r.message
		}
		return text
	}
	switch {
	case code == abi.ResultOK:
		return job.OK, r.message
	case code == abi.ResultSkipped:
		return job.Nothing, r.message
	case code == abi.ResultRetryable:
		return job.Retryable, say("the job failed and asks for another attempt")
	case code == abi.ResultFailed, code >= abi.ResultAuthor:
		return job.Failure, say(fmt.Sprintf("the job failed with code %d and gave no reason", code))
	}
	return job.Failure, say("the job failed") + fmt.Sprintf(" (%s returned %d, which has no meaning)", abi.ExportExecute, code)
}

// late explains the end of a run that took too long.
func (r *run) late(err error) string {
	text := fmt.Sprintf("deadline of %s passed", r.facts.call.Config.Timeout)
	if _, exit := errors.AsType[*sys.ExitError](err); exit {
		text += fmt.Sprintf("; ended %s later", r.grace())
	} else if err != nil {
		text += "; then: " + r.trap(err)
	}
	if r.total > 0 {
		text += fmt.Sprintf("; progress %d of %d", r.done, r.total)
	}
	if r.message != "" {
		text += "\n" + r.message
	}
	return text
}

// trap explains an error of the engine: a trap with its stack, an exit, or a
// host function that refused to go on.
func (r *run) trap(err error) string {
	// What failed inside of the engine comes with a stack of the host.
	text, _, _ := strings.Cut(err.Error(), "\n\nGo runtime stack trace:")
	text = escape(clip(text, maxFailure), true)
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		text = fmt.Sprintf("the module ended itself with exit code %d instead of returning", exit.ExitCode())
	}
	if r.mem.full {
		text += fmt.Sprintf("\nthe memory limit of %d bytes was reached; raise limits.memory if the job needs more", r.mem.limit)
	}
	if r.message != "" {
		text = r.message + "\n" + text
	}
	return strings.TrimSpace(text)
}
