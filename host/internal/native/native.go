// Package native runs a command of the operating system as the code of a job, where
// the operator allows that. It is not a sandbox: the command may do what the
// server's user may do, with no limit of memory or instructions. The package
// guarantees the end: when a run is over, so are its command and all processes that
// it started. Some systems allow only a part of this: see docs/FAULTS.md.
//
// Flow: Open ends processes of an earlier server → New parses a command line → Run
// starts a supervisor (supervise_unix.go), which is this program under another
// name, with the job's context as one more argument and an environment of its own →
// the supervisor starts the command, whose standard error goes to the log and whose
// standard output is the result (output.go) → the command exits, or is asked to end
// and killed after the grace; the supervisor ends what is left below it, reports
// how the command ended, and exits → processes that the supervisor could not end,
// or all of them if it was killed, are ended by their control group
// (group_linux.go) or their environment (marked_linux.go).
package native

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/lograte"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	defaultGrace = 2 * time.Second
	// maxContext is the longest argument that Linux takes, without the final zero byte.
	// It applies on every system, so that a job does not depend on where it runs.
	maxContext = 128<<10 - 1
	// checkEvery is the interval at which a run checks whether it should stop.
	checkEvery = 100 * time.Millisecond
	// pipeDelay is the wait for output after the end of the command: a process that
	// left the group may hold the pipe open forever.
	pipeDelay = time.Second
)

// Command is a program with its arguments. Any number of goroutines may run it at
// once.
type Command struct {
	all    *Commands
	args   []string
	logged lograte.Limiter // bounds the log lines of all its runs
}

// Run executes the command once. It returns when the command and all processes that
// it started have ended: by themselves, at the deadline plus grace, or because ctx
// was cancelled, which kills them at once. The command is asked to stop with
// SIGTERM at the deadline, and when c.Why gives a reason.
func (k *Command) Run(ctx context.Context, c job.Call) job.Outcome {
	began := time.Now()
	out := job.Outcome{}
	if ctx.Err() != nil {
		out.Verdict, out.Error = job.Stopped, "stopped before it began"
		return out
	}
	about := string(c.JSON()) // the job's context, the last argument of the command
	if len(about) > maxContext {
		out.Verdict = job.Failure
		out.Error = fmt.Sprintf("the context has %d bytes, but an argument of a command has at most %d; shorten the parameters of the job and its items, or have fewer items", len(about), maxContext)
		return out
	}
	mark, ok := k.all.begin()
	if !ok {
		out.Verdict, out.Error = job.Stopped, "stopped before it began"
		return out
	}
	defer k.all.ended()
	result := &head{most: positiveOr(c.Config.Limits.Result, defaultResult)}
	log := newJournal(c, &k.logged)
	// A clone, because runs of the same command append to it concurrently.
	run, err := k.all.start(append(slices.Clone(k.args), about), mark, leaseOf(c), environment(c), result, log)
	if err != nil {
		out.Verdict, out.Error, out.Took = job.Failure, fmt.Sprintf("start the command: %v", err), time.Since(began)
		return out
	}
	w := &watchdog{run: run, call: c, ended: make(chan struct{})}
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(ctx) })
	how, err := run.wait(ctx)
	close(w.ended)
	watching.Wait()
	log.finish()
	out.Took, out.PeakBytes = time.Since(began), how.Peak
	out.Result = result.bytes()
	out.Shown = visible(strings.TrimSpace(string(out.Result[:min(len(out.Result), shownResult)])), shownResult)
	w.fillIn(&out, how, err)
	if how.Lapsed && c.Lease != nil {
		c.Lease.Lapsed()
	}
	if out.Verdict != job.OK {
		if text := log.tail(); text != "" {
			out.Error += "\nstderr:\n" + text
		}
	}
	if result.cut {
		log.say("the result was cut to limits.result", "limit", result.most)
	}
	return out
}

// environment returns the granted variables, and those that describe the run for
// commands that do not read JSON.
func environment(c job.Call) []string {
	env := []string{} // nil would be the server's own
	for _, name := range slices.Sorted(maps.Keys(c.Config.Allow.Env)) {
		env = append(env, name+"="+c.Config.Allow.Env[name])
	}
	for _, v := range c.Variables() {
		env = append(env, v[0]+"="+v[1])
	}
	return env
}

// watchdog ends a command at its deadline, when its run has to stop, and when the server
// stops.
type watchdog struct {
	run   *supervised
	call  job.Call
	ended chan struct{} // closed when the command has exited

	late, stopped bool // why it was ended; read after watch has returned
}

// watch asks the command to end at its deadline and when the run should stop, and kills it
// when the grace after the deadline is over, when ctx ends, and when the server stops.
// Meanwhile it renews the lease. It returns when the command has ended or was killed.
func (w *watchdog) watch(ctx context.Context) {
	grace := w.call.Config.Limits.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	deadline, end := stoppedTimer(), stoppedTimer()
	defer deadline.Stop()
	defer end.Stop()
	if limit := w.call.Config.Timeout; limit > 0 {
		deadline.Reset(limit)
	}
	look := time.NewTicker(checkEvery)
	defer look.Stop()
	asked := false
	ask := func() {
		if !asked {
			asked = true
			w.run.ask()
		}
	}
	for {
		select {
		case <-w.ended:
			return
		case <-ctx.Done():
			w.stopped = true
			w.run.end()
			return
		case <-w.run.all.stop:
			w.stopped = true
			w.run.end()
			return
		case <-deadline.C:
			w.late = true
			ask()
			end.Reset(grace)
		case <-end.C:
			w.run.end()
			return
		case <-look.C:
			w.run.renew(w.call)
			if w.call.Why != nil && w.call.Why() != job.Continue {
				ask()
			}
		}
	}
}

// stoppedTimer returns a timer that does not fire before it is reset.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// fillIn fills in the outcome. how says how the command ended. After the deadline the
// verdict is Deadline, whatever the exit code.
func (w *watchdog) fillIn(out *job.Outcome, how ending, err error) {
	switch {
	case how.Fault != "":
		out.Verdict, out.Error = job.Failure, "start the command: "+how.Fault
	case how.Lapsed:
		out.Verdict, out.Error = job.Stopped, "the command was ended: its server did not confirm in time that it still owns the item"
	case w.stopped:
		out.Verdict, out.Error = job.Stopped, "the command was ended because its run was stopped"
	case w.late:
		out.Verdict = job.Deadline
		out.Error = fmt.Sprintf("deadline of %s passed; the command ended with %s", w.call.Config.Timeout, how.State)
	case how.Code == 0:
		out.Verdict, out.HasCode = job.OK, true
	case how.Code < 0:
		out.Verdict, out.Error = job.Failure, "the command was ended: "+how.State
	default:
		out.Verdict, out.Code, out.HasCode = job.Failure, int32(how.Code), true
		out.Error = fmt.Sprintf("the command ended with exit code %d", how.Code)
	}
	if err != nil {
		out.Error = fmt.Sprintf("%s\n%v", out.Error, err)
	}
}
