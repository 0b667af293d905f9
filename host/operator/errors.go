package operator

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host"
)

// Force is the parameter with which Remove does what it refuses otherwise: an
// error that can be overruled names it in Unless.
const Force = "force"

func failf(code host.Code, err error, format string, args ...any) *host.Error {
	return &host.Error{Code: code, Msg: fmt.Sprintf(format, args...), Err: err}
}

// askError says what became of a request to a job.
func askError(what, name string, err error) error {
	if _, ok := errors.AsType[*host.Error](err); ok {
		return err
	}
	return failf(host.CodeOf(err), err, "%s job %s", what, name)
}
