package sandbox

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/internal/meter"
	"github.com/wasmjob/wasmjob/host/job"
)

const maxFailure = 16 << 10 // bytes of Outcome.Error

// callResult is the end of a call of the guest.
type callResult struct {
	entry string // the export that was called last
	code  int32  // its result code
	err   error  // why it did not return, or was not called
	late  bool   // it ended after the deadline
}

// fillOutcome fills in the outcome for the result of the last call. ended reports whether
// the caller or the engine has ended the run.
func (r *run) fillOutcome(out *job.Outcome, res callResult, ended bool) {
	out.Code, out.Result, out.Shown = res.code, r.result, r.log.shownResult(r.result)
	out.PeakBytes, out.HostCalls, out.Fuel = int64(r.peak), r.calls, r.fuel
	out.Metrics, out.Flow = r.hostState.metrics(), r.flow
	switch {
	case res.err != nil && ended:
		out.Verdict = job.Stopped
		out.Error = r.explainStop(res.err)
	case res.late:
		out.Verdict = job.Deadline
		out.Error = r.explainDeadline(res.err)
	case errors.Is(res.err, errFuel):
		out.Verdict = job.OutOfFuel
		out.Error = fmt.Sprintf("the fuel of %d was used up; raise limits.fuel if the job needs more\n%s", r.fuelGauge.limit, r.explainTrap(res.err))
	case res.err != nil:
		out.Verdict = job.Failure
		out.Error = r.explainTrap(res.err)
	default:
		out.Verdict, out.Error = r.explainCode(res)
		out.HasCode = true
	}
	if out.Verdict != job.OK && out.Verdict != job.Nothing {
		text := r.stderr.text(r.log.secrets)
		if out.Verdict == job.Failure || out.Verdict == job.Retryable {
			out.Error += r.hints(out.Error + "\n" + text)
		}
		if text != "" {
			out.Error += "\nstderr:\n" + text
		}
		// The stack is last, because a long text is cut at its end.
		if _, stack := r.splitStack(res.err); stack != "" && out.Verdict != job.Stopped {
			out.Error += "\n" + stackTitle + "\n" + stack
		}
		out.Error = clip(out.Error, maxFailure)
	}
}

// explainCode returns the verdict and the reason for a result code.
func (r *run) explainCode(res callResult) (job.Verdict, string) {
	say := func(text string) string {
		if r.message != "" {
			return r.message
		}
		return text
	}
	switch code := res.code; {
	case code == abi.ResultOK:
		return job.OK, r.message
	case r.script:
		text := fmt.Sprintf("the script ended with exit code %d", uint32(code))
		if r.stderr.cause != "" {
			text += ": " + r.stderr.cause
		}
		return job.Failure, say(text)
	case code == abi.ResultSkipped:
		return job.Nothing, r.message
	case code == abi.ResultRetryable:
		return job.Retryable, say("the job failed and asks for another attempt")
	case code == abi.ResultFailed, code >= abi.ResultAuthor:
		return job.Failure, say(fmt.Sprintf("the job failed with code %d and gave no reason", code))
	}
	return job.Failure, say("the job failed") + fmt.Sprintf(" (%s returned %d, which has no meaning)", res.entry, res.code)
}

// explainStop returns the reason for a run that was cancelled and did not return.
func (r *run) explainStop(err error) string {
	text := "ended because the run was cancelled"
	if _, stack := r.splitStack(err); stack != "" {
		text += ", in " + innermostCall(stack)
	}
	if r.message != "" {
		text += "\n" + r.message
	}
	return text
}

// explainDeadline returns the reason for a run that exceeded its deadline.
func (r *run) explainDeadline(err error) string {
	text := fmt.Sprintf("deadline of %s passed", r.facts.call.Config.Timeout)
	if errors.Is(err, errRunEnded) {
		text += fmt.Sprintf("; ended %s later", graceOf(&r.facts.call.Config.Limits))
		if _, stack := r.splitStack(err); stack != "" {
			text += " in " + innermostCall(stack)
		}
	} else if err != nil {
		text += "; then: " + r.explainTrap(err)
	}
	if r.total > 0 {
		text += fmt.Sprintf("; progress %d of %d", r.done, r.total)
	}
	if r.message != "" {
		text += "\n" + r.message
	}
	return text
}

// splitStack splits an error of the engine into the reason and the guest's stack.
// err may be nil.
func (r *run) splitStack(err error) (reason, stack string) {
	if err == nil {
		return "", ""
	}
	// Panics inside the engine include a stack of the host.
	text, _, _ := strings.Cut(err.Error(), "\n\nGo runtime stack trace:")
	// The names of thirty functions can take megabytes.
	secrets := r.log.secrets
	text = readableLines(secrets.hide(text[:min(len(text), maxFailure+1+secrets.slack())], 0, maxFailure+1), maxFailure)
	reason, stack, _ = strings.Cut(text, "\n"+stackTitle+"\n")
	for { // drop the host's own functions: the guest is ended in a yield
		call, rest, _ := strings.Cut(stack, "\n")
		if !strings.Contains(call, meter.ImportModule+".") {
			return reason, strings.TrimRight(stack, "\n")
		}
		stack = rest
	}
}

// stackTitle is the line above stacks, both the engine's and ours.
const stackTitle = "wasm stack trace:"

// maxCall is the maximum length of a function's name in a reason.
const maxCall = 200

// signature matches what the engine appends to the name of a function.
var signature = regexp.MustCompile(`\([a-z0-9,]*\)( \S+)?$`)

// innermostCall returns the innermost function of a stack; for a function of the
// host, also the guest's function that called it.
func innermostCall(stack string) string {
	var calls []string
	for line := range strings.Lines(stack) {
		name := strings.TrimPrefix(signature.ReplaceAllString(strings.TrimSpace(line), ""), ".")
		calls = append(calls, clip(name, maxCall))
		if !strings.HasPrefix(name, abi.Module+".") && !strings.HasPrefix(name, wasiModule+".") {
			break
		}
	}
	return strings.Join(calls, ", called by ")
}

// explainTrapWithStack returns the reason for an error of the engine, and the guest's
// stack below it.
func (r *run) explainTrapWithStack(err error) string {
	text := r.explainTrap(err)
	if _, stack := r.splitStack(err); stack != "" {
		text += "\n" + stackTitle + "\n" + stack
	}
	return text
}

// explainTrap returns the reason for an error of the engine: a trap, an exit, or a
// host function that ended the guest.
func (r *run) explainTrap(err error) string {
	text, _ := r.splitStack(err)
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		text = fmt.Sprintf("the module exited instead of returning, with exit code %d", exit.ExitCode())
	}
	if strings.Contains(text, "stack overflow") {
		text += fmt.Sprintf("\nthe call stack is exhausted: a guest has %d bytes of stack", stackSize)
	}
	if r.memoryLimitReached {
		text += fmt.Sprintf("\nthe memory limit of %d bytes was reached; raise limits.memory if the job needs more", r.memoryLimit())
	}
	if r.memoryErr != nil {
		text += "\nmore memory was refused: " + r.memoryErr.Error()
	}
	if r.message != "" {
		text = r.message + "\n" + text
	} else if r.stderr.cause != "" {
		text = r.stderr.cause + "\n" + text
	}
	return strings.TrimSpace(text)
}
