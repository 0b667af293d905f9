package operator

import (
	"context"
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry"
)

// changeState changes the cluster's state in one transaction. change reads the state and
// returns the operations, none if there is nothing to write. It is called again if the
// transaction conflicts or its outcome is unknown.
func (o *Operator) changeState(ctx context.Context, what string, d *deed, change func(now time.Time) ([]registry.Op, error)) error {
	if err := o.makeTree(ctx); err != nil {
		return err
	}
	unsure := false // a try had no answer
	// failed is err or, if an earlier try may have been applied, that the outcome is unknown.
	failed := func(err error) error {
		if unsure {
			return failf(host.Unknown, err, "an earlier try had no answer")
		}
		return err
	}
	for try := 1; ; try++ {
		if err := o.session.Sync(ctx); err != nil {
			return failed(readError(err, "%s", what))
		}
		now, err := o.now(ctx)
		if err != nil {
			return failed(readError(err, "%s: ask the registry for its time", what))
		}
		ops, err := change(now)
		switch {
		case err != nil:
			return failed(err)
		case len(ops) == 0:
			return nil
		}
		err = o.commit(ctx, *d, ops...)
		switch {
		case err == nil:
			return nil
		case try == askTries || !errors.Is(err, registry.ErrConflict) && !errors.Is(err, registry.ErrUnknown):
			return failed(failf(host.CodeOf(err), err, "%s", what))
		}
		unsure = unsure || errors.Is(err, registry.ErrUnknown)
	}
}

// readState reads a node of the cluster's state and decodes its value. Errors begin with what, and call the
// node by name.
func readState[T any](ctx context.Context, o *Operator, what, name, path string, decode func([]byte) (T, error)) (T, registry.Node, error) {
	n, err := o.session.Read(ctx, path)
	if err != nil {
		var none T
		return none, n, readError(err, "%s: read the %s", what, name)
	}
	v, err := decode(n.Data)
	if err != nil {
		return v, n, failf(host.Refused, err, "%s: the %s at %s cannot be read; upgrade if a newer release wrote that node, else delete it", what, name, path)
	}
	return v, n, nil
}
