package main

import "fmt"

// Exit codes. Scripts and service files depend on them: never change one. COMMANDS.md has the
// comments as a table.
const (
	exitOK           = 0   // success; for a request: it is written
	exitFailure      = 1   // unexpected error
	exitUsage        = 2   // wrong flags or arguments
	exitInvalid      = 3   // the configuration, cron, module or a value for a request is invalid, or a secret that it names is missing; do not restart
	exitNotFound     = 4   // no such job, server, namespace, token, module or run; no history, silence or maintenance
	exitConflict     = 5   // impossible in the present state: no such item, no server to trigger, an unreadable configuration, a data_dir in use; or a check has findings
	exitForbidden    = 6   // the registry does not permit it, the token is unknown or its role too low, or the socket is another user's
	exitUnreachable  = 7   // the registry, or the server that has it, was not reached in time, or did not report the outcome
	exitRunFailed    = 8   // exec, job run: the run failed
	exitRunCancelled = 9   // exec: the run was cancelled or timed out
	exitDifferent    = 10  // test, conformance: something differs
	exitInterrupted  = 130 // SIGINT
	exitTerminated   = 143 // SIGTERM
)

// exitError is an error with an exit code. If err is nil, the verb has already reported
// everything.
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

// exitf returns an error that ends the program with code.
func exitf(code int, format string, args ...any) *exitError {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// usage returns an error about wrong flags or arguments, and says what to write.
func usage(format string, args ...any) *exitError { return exitf(exitUsage, format, args...) }
