package operator

import (
	"context"
	"errors"
	"io"

	"github.com/wasmjob/wasmjob/host/internal/dump"
)

// Dump writes the nodes of a job, one per line: the path below the namespace, " | "
// and the value. The dump can be shared: ip1, ip2 and so on replace addresses, ***
// replaces values that may be secrets or paths of a machine, and the state of guests is
// left out. A dump of more than 16 MiB is cut and ends with a line that says so.
func (o *Operator) Dump(ctx context.Context, name string, to io.Writer) error {
	l, err := o.found(ctx, name)
	if err != nil {
		return err
	}
	err = dump.Write(ctx, o.session, l, to)
	switch {
	case errors.Is(err, dump.ErrNoJob):
		return o.noJob(ctx, name)
	case err != nil:
		return readError(err, "dump job %s", name)
	}
	return nil
}
