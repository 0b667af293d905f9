package wasmjob

import (
	"errors"
	"strings"
)

var (
	// Skip is the error of a job that found nothing to do.
	Skip = errors.New("nothing to do")
	// Retry is the error, possibly wrapped, of a job that failed and may be retried.
	Retry = errors.New("try again")
)

// codeError is an error with a result code that the author defines.
type codeError struct {
	code int32
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// WithCode gives a failure a code that the author defines, which the host records with
// the run. Codes start at 128; a lower one is ignored.
func WithCode(code int32, err error) error {
	if err == nil || code < resultAuthor {
		return err
	}
	return &codeError{code: code, err: err}
}

// attempt is an error together with what was attempted.
type attempt struct {
	what string
	err  error
}

func (a *attempt) Error() string { return a.what + ": " + a.err.Error() }
func (a *attempt) Unwrap() error { return a.err }

// check converts the result of a host function to an error; package fmt would make every
// module larger.
func check(answer int32, what ...string) error {
	if answer >= 0 {
		return nil
	}
	return &attempt{strings.Join(what, " "), HostError(answer)}
}
