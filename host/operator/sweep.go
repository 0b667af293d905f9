package operator

import (
	"context"
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/registry"
)

// sweepPatience limits the time of a sweep, which does not end with the request.
const sweepPatience = 2 * time.Minute

// finishRemoval deletes the rest of a removed job, and reports whether it found one. The mark
// distinguishes a rest from the nodes of a nested namespace. It does nothing if the job was
// defined again, or still has members.
func (o *Operator) finishRemoval(ctx context.Context, name string) (found bool, err error) {
	if err := o.session.Sync(ctx); err != nil {
		return false, readError(err, "look at job %s", name)
	}
	l, err := o.found(ctx, name)
	if err != nil {
		return false, err
	}
	_, mark := l.Removal()
	n, err := o.session.Read(ctx, mark)
	if err != nil {
		return false, readError(err, "look at job %s", name)
	}
	if !n.Exists {
		return false, nil
	}
	v, err := o.readView(ctx, l, l.Outline(), false)
	if err != nil {
		return false, readError(err, "look at job %s", name)
	}
	if v.Config != nil || v.ConfigFault != "" || len(v.Instances)+len(v.Members) > 0 { // records of dead members do not matter
		return false, nil
	}
	d := deed{verb: "job remove", job: name, before: "the rest of an unfinished removal"}
	config, _, _ := l.Nodes()
	still := []registry.Op{{Kind: registry.Absent, Path: config}, {Kind: registry.Check, Path: mark, Version: n.Stat.Version}}
	// This writes only the audit row. The sweep below deletes the nodes.
	if err = o.commit(ctx, d, still...); errors.Is(err, registry.ErrConflict) {
		return false, nil // another request has finished it, or defined the job
	}
	if err == nil && !o.dry {
		err = o.sweep(ctx, l)
	}
	if err != nil {
		return true, askError("remove", name, err)
	}
	return true, nil
}

// sweep deletes the rest of a removed job while its members leave it. It stops if the job is defined
// again. It continues after the request has ended, since no server is sure to delete what it leaves.
func (o *Operator) sweep(ctx context.Context, l layout.Layout) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepPatience)
	defer cancel()
	config, _, _ := l.Nodes()
	for try := 1; ; try++ {
		err := removal.Once(ctx, o.session, l)
		if err == nil {
			return nil
		}
		if !removal.MayPass(err) {
			return unswept(l, err)
		}
		n, unread := o.session.Read(ctx, config)
		switch {
		case unread != nil:
			return unswept(l, unread)
		case n.Exists:
			return failf(host.Refused, nil, "it was defined again meanwhile, and is left as it is; look at it with job show")
		case try == askTries && !errors.Is(err, registry.ErrConflict):
			return unswept(l, err)
		case try == askTries:
			return failf(host.Refused, nil, "its definition is gone, but something still writes nodes below %s; stop that, and remove the job again", l.Root())
		}
	}
}

// unswept is the error of a sweep that has to be done again.
func unswept(l layout.Layout, err error) error {
	return failf(host.CodeOf(err), err, "its definition is gone, but nodes are left below %s; remove the job again", l.Root())
}
