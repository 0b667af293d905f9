// Package native runs a command of the operating system as the code of a job,
// where the operator allows that. It is not a sandbox: the command may do what
// the server's user may do, and limits of memory or instructions do not exist.
// What it does hold is the end: a command is over when its run is, and with it
// all processes of its group.
//
// Flow: New splits the command line → Run starts the program with the context
// as one more argument and an environment of its own → its standard error goes
// to the log and its standard output is the result (output.go) → it exits, or
// is asked to end and then ended, with its group (group_unix.go).
package native

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/lograte"
	"github.com/wasmjob/wasmjob/host/job"
)

const (
	defaultGrace = 2 * time.Second
	// maxContext is what Linux takes as one argument, without the zero behind it;
	// the job must not depend on where it runs.
	maxContext = 128<<10 - 1
	// askEvery is how often a run looks whether it should stop.
	askEvery = 100 * time.Millisecond
	// pipeDelay is how long output is waited for after the end: a process that
	// left the group may hold the other end for ever.
	pipeDelay = time.Second
)

// Command is a program with its arguments. It may be run from any number of
// goroutines at once.
type Command struct {
	words  []string
	logged lograte.Limiter // lines of its runs
}

// New reads a command line as job.SplitCommand does.
func New(line string) (*Command, error) {
	words, err := job.SplitCommand(line)
	if err != nil {
		return nil, err
	}
	return &Command{words: words}, nil
}

// Run executes the command once. It returns when the command has ended: by
// itself, at its deadline plus grace, or because ctx was cancelled, which kills
// it at once. Before that it is asked to stop with SIGTERM: at the deadline, and
// when c.Why gives a reason.
func (k *Command) Run(ctx context.Context, c job.Call) job.Outcome {
	began := time.Now()
	out := job.Outcome{}
	if ctx.Err() != nil {
		out.Verdict, out.Error = job.Stopped, "stopped before it began"
		return out
	}
	about := string(c.JSON())
	if len(about) > maxContext {
		out.Verdict = job.Failure
		out.Error = fmt.Sprintf("the context has %d bytes, and a command takes %d; shorten the parameters of the job and its items, or have fewer items", len(about), maxContext)
		return out
	}
	result := &head{most: atLeast(c.Config.Limits.Result, defaultResult)}
	log := newJournal(c, &k.logged)
	cmd := exec.Command(k.words[0], append(slices.Clone(k.words[1:]), about)...) //nolint:gosec,noctx // that is what the operator allowed; the group is killed, not the process alone
	cmd.Env = environment(c)
	cmd.Stdout, cmd.Stderr = result, log
	cmd.WaitDelay = pipeDelay
	ownGroup(cmd)
	// The kernel may be asked to end the command with this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		out.Verdict, out.Error, out.Took = job.Failure, fmt.Sprintf("start the command: %v", err), time.Since(began)
		return out
	}
	w := &warden{group: cmd.Process, call: c, ended: make(chan struct{})}
	var watching sync.WaitGroup
	watching.Go(func() { w.watch(ctx) })
	err := await(cmd, func() {
		close(w.ended)
		watching.Wait()
		kill(cmd.Process)
	})
	log.finish()
	out.Took, out.PeakBytes = time.Since(began), peak(cmd.ProcessState)
	out.Result = result.bytes()
	out.Shown = visible(strings.TrimSpace(string(out.Result[:min(len(out.Result), shownResult)])), shownResult)
	w.judge(&out, cmd.ProcessState, err)
	if out.Verdict != job.OK {
		if text := log.tail(); text != "" {
			out.Error += "\nstderr:\n" + text
		}
	}
	if result.cut {
		log.say("the result was cut", "limit", result.most)
	}
	return out
}

// environment is what is granted, and what the command may want to know of its
// run without reading JSON.
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

// warden ends a command in time.
type warden struct {
	group *os.Process
	call  job.Call
	ended chan struct{} // closed when the command has exited

	late, stopped bool // why it was ended; read after watch has returned
}

func (w *warden) watch(ctx context.Context) {
	grace := w.call.Config.Limits.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	deadline, end := stopped(), stopped()
	defer deadline.Stop()
	defer end.Stop()
	if limit := w.call.Config.Timeout; limit > 0 {
		deadline.Reset(limit)
	}
	look := time.NewTicker(askEvery)
	defer look.Stop()
	asked := false
	ask := func() {
		if !asked {
			asked = true
			terminate(w.group)
		}
	}
	for {
		select {
		case <-w.ended:
			return
		case <-ctx.Done():
			w.stopped = true
			kill(w.group)
			return
		case <-deadline.C:
			w.late = true
			ask()
			end.Reset(grace)
		case <-end.C:
			kill(w.group)
			return
		case <-look.C:
			if w.call.Why != nil && w.call.Why() != job.Continue {
				ask()
			}
		}
	}
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// judge says how the run ended. An exit after the deadline is late whatever
// its code.
func (w *warden) judge(out *job.Outcome, state *os.ProcessState, err error) {
	code := state.ExitCode()
	switch {
	case w.stopped:
		out.Verdict, out.Error = job.Stopped, "the command was ended from outside"
	case w.late:
		out.Verdict = job.Deadline
		out.Error = fmt.Sprintf("deadline of %s passed; the command ended with %v", w.call.Config.Timeout, state)
	case code == 0:
		out.Verdict, out.HasCode = job.OK, true
	case code < 0:
		out.Verdict, out.Error = job.Failure, fmt.Sprintf("the command was ended: %v", state)
	default:
		out.Verdict, out.Code, out.HasCode = job.Failure, int32(code), true
		out.Error = fmt.Sprintf("the command ended with exit code %d", code)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		out.Error = fmt.Sprintf("%s\n%v", out.Error, err)
	}
}
