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

// callResult is how the guest came to its end.
type callResult struct {
	entry string // that ended it
	code  int32  // what that returned
	err   error  // why it did not return, or could not be called
	late  bool   // after the deadline
}

// fillOutcome turns what happened into the outcome.
func (r *run) fillOutcome(out *job.Outcome, res callResult, ended bool) {
	out.Code, out.Result, out.Shown = res.code, r.result, r.log.shownResult(r.result)
	out.PeakBytes, out.HostCalls, out.Fuel = int64(r.peak), r.calls, r.fuel
	out.Metrics, out.Flow = r.state.metrics(), r.flow
	switch {
	case res.err != nil && ended:
		out.Verdict = job.Stopped
		out.Error = "ended because the run was cancelled"
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
			out.Error += r.ungranted(out.Error + "\n" + text)
		}
		if text != "" {
			out.Error += "\nstderr:\n" + text
		}
		// It is last, as what is too long is cut at its end.
		if _, stack := r.splitStack(res.err); stack != "" && out.Verdict != job.Stopped {
			out.Error += "\n" + stackTitle + "\n" + stack
		}
		out.Error = clip(out.Error, maxFailure)
	}
}

// explainCode explains a result code.
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

// explainDeadline explains the end of a run that took too long.
func (r *run) explainDeadline(err error) string {
	text := fmt.Sprintf("deadline of %s passed", r.facts.call.Config.Timeout)
	if errors.Is(err, errRunEnded) {
		text += fmt.Sprintf("; ended %s later", r.grace())
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

// splitStack divides what an error of the engine says into the reason and the stack of
// the guest; err may be nil.
func (r *run) splitStack(err error) (reason, stack string) {
	if err == nil {
		return "", ""
	}
	// What failed inside of the engine comes with a stack of the host.
	text, _, _ := strings.Cut(err.Error(), "\n\nGo runtime stack trace:")
	// The names of thirty functions can be megabytes.
	secrets := r.log.secrets
	text = readableLines(secrets.hide(text[:min(len(text), maxFailure+1+secrets.slack())], 0, maxFailure+1), maxFailure)
	reason, stack, _ = strings.Cut(text, "\n"+stackTitle+"\n")
	for { // a guest is ended where it reports
		call, rest, _ := strings.Cut(stack, "\n")
		if !strings.Contains(call, meter.ImportModule+".") {
			return reason, strings.TrimRight(stack, "\n")
		}
		stack = rest
	}
}

// stackTitle stands above the engine's stacks, and ours.
const stackTitle = "wasm stack trace:"

// maxCall bounds the name of a function in a reason.
const maxCall = 200

// signature is what the engine writes behind the name of a function.
var signature = regexp.MustCompile(`\([a-z0-9,]*\)( \S+)?$`)

// innermostCall names the function that was being called, or of ours the one that
// the guest called and who did.
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

// explainTrapWithStack is trap with the stack.
func (r *run) explainTrapWithStack(err error) string {
	text := r.explainTrap(err)
	if _, stack := r.splitStack(err); stack != "" {
		text += "\n" + stackTitle + "\n" + stack
	}
	return text
}

// explainTrap explains an error of the engine: a trap, an exit, or a host function that
// refused to go on.
func (r *run) explainTrap(err error) string {
	text, _ := r.splitStack(err)
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		text = fmt.Sprintf("the module ended itself with exit code %d instead of returning", exit.ExitCode())
	}
	if strings.Contains(text, "stack overflow") {
		text += fmt.Sprintf("\ncalls are nested too deep: a guest has %d bytes of stack", stackSize)
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
