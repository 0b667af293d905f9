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

// way is how a call of some kind is made.
type way func(*run) ending

// way picks it: by the event, or else by the kind that the job names. The
// module may be of several kinds; if it is not of this one, that is an error.
func (c *compilation) way(call *job.Call) (way, error) {
	lacks := func(what string) error {
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
		if !c.has(abi.ExportExecute) {
			return nil, lacks("simple")
		}
		return (*run).simple, nil
	case job.Dataflow:
		if !c.has(abi.ExportFetch) || !c.has(abi.ExportProcess) {
			return nil, lacks("a dataflow")
		}
		return (*run).dataflow, nil
	case job.Script:
		if !c.has(abi.ExportStart) {
			return nil, lacks("a script")
		}
		return (*run).command, nil
	default:
		return nil, fmt.Errorf("there is no kind of job %q", kind)
	}
}

// has tells whether the module exports a function of the ABI.
func (c *compilation) has(name string) bool { return c.entries[name] }

// begin gets what every run needs before its entry. If ok is false the run has
// ended: something failed, or the listener did not want it.
func (r *run) begin() (got ending, ok bool) {
	if err := r.attach(false); err != nil {
		return ending{err: err}, false
	}
	if err := r.outside.begin(r.ctx); err != nil {
		return ending{err: fmt.Errorf("load the state: %w", err)}, false
	}
	if !r.c.has(abi.ExportBefore) {
		return ending{}, true
	}
	got = r.entry(abi.ExportBefore, abi.InRun)
	return got, got.err == nil && got.code == abi.ResultOK
}

// entry calls one export.
func (r *run) entry(name string, phase abi.Phase) ending {
	code, err := r.enter(name, phase)
	return ending{entry: name, code: code, err: err}
}

// after tells the listener that the entry has returned, and how the run has
// ended by that. What comes of it changes nothing, except that the instance may
// be lost; the reason that it gives is its own, not that of the run.
func (r *run) after(got ending) {
	if got.err != nil || !r.c.has(abi.ExportAfter) || r.in == nil || !r.in.sound {
		return
	}
	got.late = r.overdue()
	own, message := r.outside, r.message
	r.outside, r.message, r.facts.ended = own.fork(), "", endOf(got, r.message)
	told := r.entry(abi.ExportAfter, abi.InRun)
	own.join(r.outside, told.err == nil)
	defer func() { r.message = message }()
	r.outside, r.facts.ended = own, nil
	switch {
	case told.err != nil:
		r.journal.say(r.ctx, slog.LevelWarn, "listener failed", slog.String("listener", abi.ExportAfter), slog.String("err", r.traced(told.err)))
	case told.code != abi.ResultOK:
		r.journal.say(r.ctx, slog.LevelWarn, "listener failed", slog.String("listener", abi.ExportAfter), slog.Int("code", int(told.code)), slog.String("err", r.message))
	}
}

// close decides whether the run was in time, and if it is well keeps the state.
func (r *run) close(got ending) ending {
	got.late = r.overdue()
	if got.err == nil && got.code == abi.ResultOK && !got.late {
		got.err = r.commit()
	}
	return got
}

func (r *run) commit() error {
	if r.outside.dirty() {
		defer r.away()()
	}
	if err := r.outside.commit(r.ctx); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	return nil
}

// simple is a run of one entry.
func (r *run) simple() ending {
	got, ok := r.begin()
	if ok {
		got = r.entry(abi.ExportExecute, abi.InRun)
		r.after(got)
	}
	return r.close(got)
}

// listener tells a module of an event, if it wants to know.
func listener(name string) way {
	return func(r *run) ending {
		if !r.c.has(name) {
			return ending{entry: name, code: abi.ResultSkipped}
		}
		if err := r.attach(true); err != nil {
			return r.close(ending{err: err})
		}
		if err := r.outside.begin(r.ctx); err != nil {
			return r.close(ending{err: fmt.Errorf("load the state: %w", err)})
		}
		return r.close(r.entry(name, abi.InRun))
	}
}

// command is a run of a script: a program that is told all by its arguments,
// ends with a number and says the rest on its outputs.
func (r *run) command() ending {
	r.script = true
	if err := r.attach(true); err != nil {
		return r.close(ending{err: err})
	}
	got := r.entry(abi.ExportStart, abi.InRun)
	if exit, ok := errors.AsType[*sys.ExitError](got.err); ok {
		got.code, got.err = int32(exit.ExitCode()), nil
	}
	return r.close(got)
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
	args = append(args, string(r.facts.document()))
	for _, v := range c.Variables() {
		config = config.WithEnv(v[0], v[1])
	}
	return config.WithArgs(args...).WithStdout(printed{r})
}

// printed keeps what a command prints as the result of its run.
type printed struct{ r *run }

// Write implements io.Writer. Like that of lineWriter it ends with the run.
func (p printed) Write(b []byte) (int, error) {
	if err := p.r.ctx.Err(); err != nil {
		return 0, err
	}
	r := p.r
	kept := b[:min(int64(len(b)), max(r.resultLimit-int64(len(r.result)), 0))]
	if need := len(r.result) + len(kept); need > cap(r.result) {
		// Twice as much has the text copied seldom; while it is, both are there.
		size := int(min(int64(2*need), max(r.resultLimit, int64(need))))
		if !r.holdResult(size + len(r.result)) {
			return 0, r.starved
		}
		r.result = append(make([]byte, 0, size), r.result...)
	}
	r.result = append(r.result, kept...)
	return len(b), nil
}
