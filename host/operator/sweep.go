package operator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	// removeAtOnce is the number of nodes per transaction when a job has too many for one.
	removeAtOnce = 1000
	// sweepPatience bounds a sweep, which does not end with the request.
	sweepPatience = 2 * time.Minute
)

// finishRemoval deletes what is left of a job whose removal was not finished, and reports
// whether it found that. The mark tells it from the nodes of a nested namespace. It leaves
// a job alone that was defined since, or that has members which have yet to leave.
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
	if v.Config != nil || v.ConfigFault != "" || len(v.Instances)+len(v.Members) > 0 { // records of dead members hold up nothing
		return false, nil
	}
	d := deed{verb: "job remove", job: name, before: "the rest of an unfinished removal"}
	config, _, _ := l.Nodes()
	still := []registry.Op{{Kind: registry.Absent, Path: config}, {Kind: registry.Check, Path: mark, Version: n.Stat.Version}}
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
		err := o.sweepOnce(ctx, l)
		if err == nil {
			return nil
		}
		if !mayPass(err) {
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

// mayPass reports whether the same may succeed when it is tried again.
func mayPass(err error) bool {
	return errors.Is(err, registry.ErrConflict) || errors.Is(err, registry.ErrUnknown)
}

// sweepOnce tries to delete each node once. The mark goes last, with the nodes above it.
func (o *Operator) sweepOnce(ctx context.Context, l layout.Layout) error {
	nodes, err := o.nodes(ctx, l.Root())
	if err != nil {
		return err
	}
	config, _, _ := l.Nodes()
	above, mark := l.Removal()
	var rest, last []string
	for _, path := range nodes {
		if path == mark || path == above || path == l.Root() {
			last = append(last, path)
		} else {
			rest = append(rest, path)
		}
	}
	unless := registry.Op{Kind: registry.Absent, Path: config}
	for chunk := range slices.Chunk(rest, removeAtOnce) {
		swept := o.sweepNodes(ctx, unless, chunk)
		if swept != nil && !mayPass(swept) {
			return swept
		}
		err = errors.Join(err, swept)
	}
	if err != nil || len(last) == 0 {
		return err
	}
	_, err = o.session.Commit(ctx, append([]registry.Op{unless}, deletions(last)...)...)
	return err
}

// sweepNodes deletes nodes but those that change meanwhile, about which it returns an error.
func (o *Operator) sweepNodes(ctx context.Context, unless registry.Op, nodes []string) error {
	_, err := o.session.Commit(ctx, append([]registry.Op{unless}, deletions(nodes)...)...)
	c, ok := errors.AsType[*registry.ConflictError](err)
	if !ok || c.Op.Path == unless.Path || len(nodes) == 1 {
		return err
	}
	half := len(nodes) / 2
	err = o.sweepNodes(ctx, unless, nodes[:half])
	if err != nil && !mayPass(err) {
		return err
	}
	rest := o.sweepNodes(ctx, unless, nodes[half:])
	if rest != nil && !mayPass(rest) {
		return rest
	}
	return errors.Join(err, rest)
}
