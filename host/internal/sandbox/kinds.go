package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// attemptFunc is how a call of some kind is made.
type attemptFunc func(*run) callResult

// attemptFunc picks it: by the event, or else by the kind that the job names. The
// module may be of several kinds; if it is not of this one, that is an error.
func (c *compilation) attemptFunc(call *job.Call) (attemptFunc, error) {
	notOfKind := func(what string) error {
		return fmt.Errorf("the job is %s, but module %s is not; it can be: %s", what, c.digest, strings.Join(c.report.Kinds, ", "))
	}
	switch call.Event {
	case "":
	case job.FireStarted:
		return listener(abi.ExportStarted), nil
	case job.FireCompleted:
		return listener(abi.ExportCompleted), nil
	default:
		return nil, fmt.Errorf("there is no event %q", call.Event)
	}
	switch kind := call.Config.Kind; kind {
	case "", job.Simple:
		if !c.exports(abi.ExportExecute) {
			return nil, notOfKind("simple")
		}
		return (*run).runSimple, nil
	case job.Dataflow:
		if !c.exports(abi.ExportFetch) || !c.exports(abi.ExportProcess) {
			return nil, notOfKind("a dataflow")
		}
		return (*run).runDataflow, nil
	case job.Script:
		if !c.exports(abi.ExportStart) {
			return nil, notOfKind("a script")
		}
		return (*run).runScript, nil
	default:
		return nil, fmt.Errorf("there is no kind of job %q", kind)
	}
}

// exports tells whether the module exports a function of the ABI.
func (c *compilation) exports(name string) bool { return c.abiExports[name] }

// beginAttempt gets what every run needs before its entry. If ok is false the run has
// ended: something failed, or the listener did not want it.
func (r *run) beginAttempt() (res callResult, ok bool) {
	if err := r.attach(false); err != nil {
		return callResult{err: err}, false
	}
	if err := r.state.begin(r.ctx); err != nil {
		return callResult{err: fmt.Errorf("load the state: %w", err)}, false
	}
	if !r.c.exports(abi.ExportBefore) {
		return callResult{}, true
	}
	res = r.callEntry(abi.ExportBefore, abi.InRun)
	return res, res.err == nil && res.code == abi.ResultOK
}

// callEntry calls one export.
func (r *run) callEntry(name string, phase abi.Phase) callResult {
	code, err := r.callExport(name, phase)
	return callResult{entry: name, code: code, err: err}
}

// callAfterListener tells the listener that the entry has returned, and how the run has
// ended by that. What comes of it changes nothing, except that the instance may
// be lost; the reason that it gives is its own, not that of the run.
func (r *run) callAfterListener(res callResult) {
	if res.err != nil || !r.c.exports(abi.ExportAfter) || r.in == nil || !r.in.reusable {
		return
	}
	res.late = r.overdue()
	own, message := r.state, r.message
	r.state, r.message, r.facts.reportedEnd = own.fork(), "", reportedEndOf(res, r.message)
	listenerResult := r.callEntry(abi.ExportAfter, abi.InRun)
	own.join(r.state, listenerResult.err == nil)
	defer func() { r.message = message }()
	r.state, r.facts.reportedEnd = own, nil
	switch {
	case listenerResult.err != nil:
		r.log.logOnce(r.ctx, slog.LevelWarn, "listener failed", slog.String("listener", abi.ExportAfter), slog.String("err", r.explainTrapWithStack(listenerResult.err)))
	case listenerResult.code != abi.ResultOK:
		r.log.logOnce(r.ctx, slog.LevelWarn, "listener failed", slog.String("listener", abi.ExportAfter), slog.Int("code", int(listenerResult.code)), slog.String("err", r.message))
	}
}

// finish decides whether the run was in time, and if it is well keeps the state.
func (r *run) finish(res callResult) callResult {
	res.late = r.overdue()
	if res.err == nil && res.code == abi.ResultOK && !res.late {
		res.err = r.commit()
	}
	return res
}

func (r *run) commit() error {
	if r.state.dirty() {
		defer r.releaseWorker()()
	}
	if err := r.state.commit(r.ctx); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return nil
}

// runSimple is a run of one entry.
func (r *run) runSimple() callResult {
	res, ok := r.beginAttempt()
	if ok {
		res = r.callEntry(abi.ExportExecute, abi.InRun)
		r.callAfterListener(res)
	}
	return r.finish(res)
}

// listener tells a module of an event, if it wants to know.
func listener(name string) attemptFunc {
	return func(r *run) callResult {
		if !r.c.exports(name) {
			return callResult{entry: name, code: abi.ResultSkipped}
		}
		if err := r.attach(true); err != nil {
			return r.finish(callResult{err: err})
		}
		if err := r.state.begin(r.ctx); err != nil {
			return r.finish(callResult{err: fmt.Errorf("load the state: %w", err)})
		}
		return r.finish(r.callEntry(name, abi.InRun))
	}
}

// runScript is a run of a script: a program that is told all by its arguments,
// ends with a number and says the rest on its outputs.
func (r *run) runScript() callResult {
	r.script = true
	if err := r.attach(true); err != nil {
		return r.finish(callResult{err: err})
	}
	res := r.callEntry(abi.ExportStart, abi.InRun)
	if exit, ok := errors.AsType[*sys.ExitError](res.err); ok {
		res.code, res.err = int32(exit.ExitCode()), nil
	}
	return r.finish(res)
}

// withScript gives a command its arguments and variables and keeps what it
// prints.
func withScript(config wazero.ModuleConfig, r *run) wazero.ModuleConfig {
	c := &r.facts.call
	name := c.Config.Module
	if name == "" {
		name = c.Config.Name
	}
	args := append([]string{name}, c.Config.Args...)
	args = append(args, string(r.facts.contextJSON()))
	for _, v := range c.Variables() {
		config = config.WithEnv(v[0], v[1])
	}
	return config.WithArgs(args...).WithStdout(resultWriter{r})
}

// resultWriter keeps what a command prints as the result of its run.
type resultWriter struct{ r *run }

// Write implements io.Writer. Like that of lineWriter it ends with the run.
func (p resultWriter) Write(b []byte) (int, error) {
	if err := p.r.ctx.Err(); err != nil {
		return 0, err
	}
	r := p.r
	kept := b[:min(int64(len(b)), max(r.resultLimit-int64(len(r.result)), 0))]
	if need := len(r.result) + len(kept); need > cap(r.result) {
		// Twice as much has the text copied seldom; while it is, both are there.
		size := int(min(int64(2*need), max(r.resultLimit, int64(need))))
		if !r.holdResult(size + len(r.result)) {
			return 0, r.memoryErr
		}
		r.result = append(make([]byte, 0, size), r.result...)
	}
	r.result = append(r.result, kept...)
	return len(b), nil
}
