package wasmjob

import (
	"errors"
	"runtime/debug"
)

var (
	// Skip is returned by a job that found nothing to do.
	Skip = errors.New("nothing to do")
	// Retry is returned, or wrapped, by a job that failed and may be tried again.
	Retry = errors.New("try again")
)

// codeError is an error with a result code of the author's own.
type codeError struct {
	code int32
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// WithCode gives a failure a code of the author's own, which the host keeps
// with the run. Codes start at 128; a lower one is ignored.
func WithCode(code int32, err error) error {
	if err == nil || code < resultAuthor {
		return err
	}
	return &codeError{code: code, err: err}
}

// job is what Simple registered. The exports of a module are global, so what
// they call has to be, too; it is set before anything runs.
var job func(Context) error

// Simple registers the job of this module; call it from init. The last call
// counts.
func Simple(f func(Context) error) { job = f }

// runJob calls the job and turns its end into a result code; the host is told
// the reason of everything but success.
func runJob(h host, f func(Context) error) (code int32) {
	defer func() {
		if p := recover(); p != nil {
			h.errorSet("panic: " + panicText(p) + "\n" + string(debug.Stack()))
			code = resultFailed
		}
	}()
	if f == nil {
		h.errorSet("no job is registered: call wasmjob.Simple in an init function")
		return -1
	}
	err := f(Context{h})
	if err == nil {
		return resultOK
	}
	h.errorSet(err.Error())
	var own *codeError
	switch {
	case errors.Is(err, Skip):
		return resultSkipped
	case errors.Is(err, Retry):
		return resultRetryable
	case errors.As(err, &own):
		return own.code
	}
	return resultFailed
}

// panicText does without package fmt, which would make small guests large.
func panicText(p any) string {
	switch v := p.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case interface{ String() string }:
		return v.String()
	}
	return "a value that is not text"
}
