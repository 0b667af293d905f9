package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// attemptFunc runs an attempt of some kind.
type attemptFunc func(*run) callResult

// attemptFunc selects the function for the event of a call, or for the kind of its
// job. A module may be of several kinds; it is an error if the job's kind is not
// among them.
func (c *compilation) attemptFunc(call *job.Call) (attemptFunc, error) {
	notOfKind := func(what string) error {
		return fmt.Errorf("the job is %s, but module %s is not; it can be: %s", what, c.digest, strings.Join(c.kinds, ", "))
	}
	switch call.Event {
	case "":
	case job.FireStarted:
		return listener(abi.ExportStarted), nil
	case job.FireCompleted:
		return listener(abi.ExportCompleted), nil
	default:
		return nil, fmt.Errorf("unknown event %q", call.Event)
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
		return nil, fmt.Errorf("unknown kind of job %q", kind)
	}
}

// exports reports whether the module exports a function of the ABI.
func (c *compilation) exports(name string) bool { return c.abiExports[name] }

// beginAttempt attaches an instance and calls the listener before the entry. If ok
// is false, the attempt has ended: something failed, or the listener declined it.
func (r *run) beginAttempt() (res callResult, ok bool) {
	if err := r.attach(false); err != nil {
		return callResult{err: err}, false
	}
	if !r.compiled.exports(abi.ExportBefore) {
		return callResult{}, true
	}
	res = r.callEntry(abi.ExportBefore, abi.InRun)
	return res, res.err == nil && res.code == abi.ResultOK
}

// callEntry calls an export that ends with a result code.
func (r *run) callEntry(name string, phase abi.Phase) callResult {
	code, err := r.callExport(name, phase)
	if err == nil && code == abi.ResultOK { // the guest could do without what was refused
		r.refused = refusedCall{}
	}
	return callResult{entry: name, code: code, err: err}
}

// callAfterListener calls the listener after the entry, which learns how that ended. The
// result of the listener changes nothing, except that its trap destroys the instance. A
// reason that it sets is logged and does not replace that of the run.
func (r *run) callAfterListener(res callResult) {
	// After a trap the state of the guest is undefined, so it is not called again.
	if res.err != nil || !r.compiled.exports(abi.ExportAfter) || r.in == nil || !r.in.reusable {
		return
	}
	res.late = r.overdue()
	own, message, refused := r.hostState, r.message, r.refused // of the run, restored below
	r.hostState, r.message, r.facts.reportedEnd = own.fork(), "", reportedEndOf(res, r.message)
	listenerResult := r.callEntry(abi.ExportAfter, abi.InRun)
	own.join(r.hostState, listenerResult.err == nil)
	defer func() { r.message, r.refused = message, refused }()
	r.hostState, r.facts.reportedEnd = own, nil
	switch {
	case listenerResult.err != nil:
		r.log.logOnce(r.ctx, slog.LevelWarn, "listener failed", slog.String("listener", abi.ExportAfter), slog.String("err", r.explainTrapWithStack(listenerResult.err)))
	case listenerResult.code != abi.ResultOK:
		r.log.logOnce(r.ctx, slog.LevelWarn, "listener failed", slog.String("listener", abi.ExportAfter), slog.Int("code", int(listenerResult.code)), slog.String("err", r.message))
	}
}

// finish notes whether the run has ended after its deadline, and commits the state of a
// successful run.
func (r *run) finish(res callResult) callResult {
	res.late = r.overdue()
	if res.err == nil && res.code == abi.ResultOK && !res.late {
		res.err = r.commit()
	}
	return res
}

// commit saves the state of the item if the guest has changed it.
func (r *run) commit() error {
	if r.hostState.dirty() {
		defer r.releaseWorker()()
	}
	if err := r.hostState.commit(r.ctx); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return nil
}

// runSimple runs the single entry of a simple job.
func (r *run) runSimple() callResult {
	res, ok := r.beginAttempt()
	if ok {
		res = r.callEntry(abi.ExportExecute, abi.InRun)
		r.callAfterListener(res)
	}
	return r.finish(res)
}

// listener calls the listener for an event if the module exports one.
func listener(name string) attemptFunc {
	return func(r *run) callResult {
		if !r.compiled.exports(name) {
			return callResult{entry: name, code: abi.ResultSkipped}
		}
		if err := r.attach(true); err != nil {
			return r.finish(callResult{err: err})
		}
		return r.finish(r.callEntry(name, abi.InFire))
	}
}

// runScript runs a command: a program that gets its input as arguments and returns
// an exit code and its output.
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

// withScript sets the arguments and variables of a command, and keeps its output.
func withScript(config wazero.ModuleConfig, r *run) wazero.ModuleConfig {
	c := r.facts.call
	args := slices.Concat([]string{cmp.Or(c.Config.Module, c.Config.Name)}, c.Config.Args, []string{string(r.facts.contextJSON())})
	for _, v := range c.Variables() {
		config = config.WithEnv(v[0], v[1])
	}
	return config.WithArgs(args...).WithStdout(resultWriter{r})
}

// resultWriter stores the output of a command as the result of its run.
type resultWriter struct{ r *run }

// Write implements io.Writer. It drops what exceeds the limit of a result without an error. Like
// lineWriter.Write it fails when the run has ended.
func (p resultWriter) Write(b []byte) (int, error) {
	if err := p.r.ctx.Err(); err != nil {
		return 0, err
	}
	r := p.r
	kept := b[:min(int64(len(b)), max(r.resultLimit-int64(len(r.result)), 0))]
	if need := len(r.result) + len(kept); need > cap(r.result) {
		size := int(min(int64(2*need), max(r.resultLimit, int64(need)))) // doubled, so that copies are rare
		if !r.holdResult(size + len(r.result)) {                         // the old and the new buffer exist while copying
			return 0, r.memoryErr
		}
		r.result = append(make([]byte, 0, size), r.result...)
	}
	r.result = append(r.result, kept...)
	return len(b), nil
}
