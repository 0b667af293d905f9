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

// ending is how the guest came to its end.
type ending struct {
	entry string // that ended it
	code  int32  // what that returned
	err   error  // why it did not return, or could not be called
	late  bool   // after the deadline
}

// judge turns what happened into the outcome.
func (r *run) judge(out *job.Outcome, got ending, ended bool) {
	out.Code, out.Result, out.Shown = got.code, r.result, r.journal.result(r.result)
	out.PeakBytes, out.HostCalls, out.Fuel = int64(r.peak), r.calls, r.fuel
	out.Metrics, out.Flow = r.outside.metrics(), r.flow
	switch {
	case got.err != nil && ended:
		out.Verdict = job.Stopped
		out.Error = "ended because the run was cancelled"
	case got.late:
		out.Verdict = job.Deadline
		out.Error = r.lateness(got.err)
	case errors.Is(got.err, errFuel):
		out.Verdict = job.OutOfFuel
		out.Error = fmt.Sprintf("the fuel of %d was used up; raise limits.fuel if the job needs more\n%s", r.gauge.limit, r.trap(got.err))
	case got.err != nil:
		out.Verdict = job.Failure
		out.Error = r.trap(got.err)
	default:
		out.Verdict, out.Error = r.returned(got)
		out.HasCode = true
	}
	if out.Verdict != job.OK && out.Verdict != job.Nothing {
		text := r.stderr.text(r.journal.secrets)
		if out.Verdict == job.Failure || out.Verdict == job.Retryable {
			out.Error += r.ungranted(out.Error + "\n" + text)
		}
		if text != "" {
			out.Error += "\nstderr:\n" + text
		}
		// It is last, as what is too long is cut at its end.
		if _, stack := r.fault(got.err); stack != "" && out.Verdict != job.Stopped {
			out.Error += "\n" + stackTitle + "\n" + stack
		}
		out.Error = clip(out.Error, maxFailure)
	}
}

// returned explains a result code.
func (r *run) returned(got ending) (job.Verdict, string) {
	say := func(text string) string {
		if r.message != "" {
			return r.message
		}
		return text
	}
	switch code := got.code; {
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
	return job.Failure, say("the job failed") + fmt.Sprintf(" (%s returned %d, which has no meaning)", got.entry, got.code)
}

// lateness explains the end of a run that took too long.
func (r *run) lateness(err error) string {
	text := fmt.Sprintf("deadline of %s passed", r.facts.call.Config.Timeout)
	if errors.Is(err, errOver) {
		text += fmt.Sprintf("; ended %s later", r.grace())
		if _, stack := r.fault(err); stack != "" {
			text += " in " + innermost(stack)
		}
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

// fault divides what an error of the engine says into the reason and the stack of
// the guest; err may be nil.
func (r *run) fault(err error) (reason, stack string) {
	if err == nil {
		return "", ""
	}
	// What failed inside of the engine comes with a stack of the host.
	text, _, _ := strings.Cut(err.Error(), "\n\nGo runtime stack trace:")
	// The names of thirty functions can be megabytes.
	secrets := r.journal.secrets
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

// innermost names the function that was being called, or of ours the one that
// the guest called and who did.
func innermost(stack string) string {
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

// traced is trap with the stack.
func (r *run) traced(err error) string {
	text := r.trap(err)
	if _, stack := r.fault(err); stack != "" {
		text += "\n" + stackTitle + "\n" + stack
	}
	return text
}

// trap explains an error of the engine: a trap, an exit, or a host function that
// refused to go on.
func (r *run) trap(err error) string {
	text, _ := r.fault(err)
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		text = fmt.Sprintf("the module ended itself with exit code %d instead of returning", exit.ExitCode())
	}
	if strings.Contains(text, "stack overflow") {
		text += fmt.Sprintf("\ncalls are nested too deep: a guest has %d bytes of stack", stackSize)
	}
	if r.full {
		text += fmt.Sprintf("\nthe memory limit of %d bytes was reached; raise limits.memory if the job needs more", r.memoryLimit())
	}
	if r.starved != nil {
		text += "\nmore memory was refused: " + r.starved.Error()
	}
	if r.message != "" {
		text = r.message + "\n" + text
	} else if r.stderr.cause != "" {
		text = r.stderr.cause + "\n" + text
	}
	return strings.TrimSpace(text)
}
