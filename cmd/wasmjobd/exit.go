package main

import "fmt"

// Exit codes. Scripts and service files depend on them: never change one.
const (
	exitOK           = 0
	exitFailure      = 1   // unexpected
	exitUsage        = 2   // wrong flags or arguments
	exitInvalid      = 3   // configuration, cron or module is invalid; do not restart
	exitNotFound     = 4   // no such job, module, run
	exitConflict     = 5   // precondition does not hold
	exitForbidden    = 6   // not authenticated or not allowed
	exitUnreachable  = 7   // daemon or registry away, or deadline passed
	exitRunFailed    = 8   // the guest ran and failed
	exitRunCancelled = 9   // the guest was cancelled or timed out
	exitDifferent    = 10  // a verb that compares has found differences
	exitInterrupted  = 130 // SIGINT
	exitTerminated   = 143 // SIGTERM
)

// exitError is an error that knows its exit code. A nil err means that the
// verb has already said everything.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitf makes an error that ends the program with code.
func exitf(code int, format string, args ...any) *exitError {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// usage makes an error about how the program was called.
func usage(format string, args ...any) *exitError { return exitf(exitUsage, format, args...) }
