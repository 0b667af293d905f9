package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Code is the kind of an Error, for callers that branch on it.
type Code string

const (
	// Invalid: options, or a job's configuration, cannot be used.
	Invalid Code = "invalid"
	// NotFound: there is no such job, item or server.
	NotFound Code = "not_found"
	// Refused: the request is valid, but impossible in the present state.
	Refused Code = "refused"
	// Denied: the registry does not permit it.
	Denied Code = "denied"
	// Unavailable: the job is not running here at present, or too many requests wait.
	Unavailable Code = "unavailable"
	// Unknown: the request may or may not have been carried out.
	Unknown Code = "unknown"
	// Internal: an unexpected failure.
	Internal Code = "internal"
)

// Error is an error of this package.
type Error struct {
	Code Code
	Msg  string
	Err  error // may be nil
	// Unless names the parameter that overrides the refusal; usually empty. The caller decides
	// how to show it: --force, {"force": true}.
	Unless string
	// Reasons are those causes that have a code.
	Reasons []reason.Reason
}

// Error returns the message with its cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func failf(code Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...), Err: err}
}

// askError returns the error for a failed request to a job. what is the verb of the request, and
// name the job.
func askError(what, name string, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	}
	return failf(CodeOf(err), err, "%s job %s", what, name)
}

// CodeOf returns the code of an *Error, or the code that corresponds to an error of a registry
// or of a job's loop.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	var refusal *runner.Refusal
	switch {
	case errors.As(err, &refusal), errors.Is(err, registry.ErrConflict), errors.Is(err, registry.ErrTooLarge):
		return Refused
	case errors.Is(err, registry.ErrDenied):
		return Denied
	case errors.Is(err, runner.ErrStopped), errors.Is(err, runner.ErrBusy), errors.Is(err, registry.ErrEnded), errors.Is(err, registry.ErrReadOnly):
		return Unavailable
	case errors.Is(err, runner.ErrSession), errors.Is(err, registry.ErrUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unknown
	}
	return Internal
}

// isSystemError reports whether err comes from the system, such as a full disk. A file that is
// missing or not readable counts as a fault of the configuration instead.
func isSystemError(err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	_, call := errors.AsType[*os.SyscallError](err)
	return path || link || call
}
