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

// sweepPatience bounds a sweep, which does not end with the request.
const sweepPatience = 2 * time.Minute

// finishRemoval deletes what is left of a job whose removal was not finished, and reports
// whether it found that.
func (o *Operator) finishRemoval(ctx context.Context, name string) (found bool, err error) {
	if err := o.session.Sync(ctx); err != nil {
		return false, readError(err, "look at job %s", name)
	}
	l, err := o.found(ctx, name)
	if err != nil {
		return false, err
	}
	still, err := removal.Rest(ctx, o.session, l, func(paths []string) ([]registry.Node, error) { return o.readAll(ctx, paths, readsAtOnce) })
	if err != nil {
		return false, readError(err, "look at job %s", name)
	}
	if still == nil {
		return false, nil
	}
	d := deed{verb: "job remove", job: name, before: "the rest of an unfinished removal"}
	if err = o.commit(ctx, d, still...); errors.Is(err, registry.ErrConflict) {
		return false, nil // somebody else has finished it, or defined the job
	}
	if err == nil && !o.dry {
		err = o.sweep(ctx, l)
	}
	if err != nil {
		return true, askError("remove", name, err)
	}
	return true, nil
}

// sweep deletes what is left of a job without a definition, which its members leave meanwhile. It stops
// if the job is defined again. It goes on when the request ends, since what it leaves is nobody's job.
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
			return failf(host.Refused, nil, "its definition is gone, and somebody still writes what is below %s; end that, and remove it again", l.Root())
		}
	}
}

// unswept is the error of a sweep that has to be done again.
func unswept(l layout.Layout, err error) error {
	return failf(host.CodeOf(err), err, "its definition is gone, and nodes are left below %s; remove it again", l.Root())
}
