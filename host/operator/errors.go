package operator

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host"
)

// Force is the parameter that overrides a refusal of Remove. A refusal that it can
// override names it in Unless.
const Force = "force"

// failf is an error with a code and a text. err is the cause, or nil.
func failf(code host.Code, err error, format string, args ...any) *host.Error {
	return &host.Error{Code: code, Msg: fmt.Sprintf(format, args...), Err: err}
}

// askError wraps the error of a failed request to a job, unless it is a host.Error already.
func askError(what, name string, err error) error {
	if _, ok := errors.AsType[*host.Error](err); ok {
		return err
	}
	return failf(host.CodeOf(err), err, "%s job %s", what, name)
}

// isCode reports whether an error is a host.Error of that code.
func isCode(err error, code host.Code) bool {
	e, ok := errors.AsType[*host.Error](err)
	return ok && e.Code == code
}
