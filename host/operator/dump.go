package operator

import (
	"context"
	"errors"
	"io"

	"github.com/wasmjob/wasmjob/host/internal/dump"
	"github.com/wasmjob/wasmjob/host/internal/layout"
)

// Dump writes the nodes of a job, one a line: its path below the namespace, " | "
// and its value. So that it can be shown to others, addresses are replaced by ip1,
// ip2 and so on, and values that may be secrets or tell of a machine's files by
// ***; what guests keep is left out. A dump that would be larger than 16 MiB ends
// with a line that says so.
func (o *Operator) Dump(ctx context.Context, name string, to io.Writer) error {
	err := dump.Write(ctx, o.session, layout.NewJob(o.namespace, name), to)
	switch {
	case errors.Is(err, dump.ErrNoJob):
		return o.noJob(ctx, name)
	case err != nil:
		return unread(err, "dump job %s", name)
	}
	return nil
}
