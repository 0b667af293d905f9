package operator

import (
	"context"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// fence has the checks that make a transaction fail if something has changed since a view was read.
type fence []registry.Op

// look reads a job, or as much of it as a verb needs, and returns a fence for the view.
type look func(ctx context.Context, l layout.Layout, name string) (*protocol.View, fence, error)

// wholly reads all of a job as of one moment, with the fence of OnlyIf. A busy job of many items may
// never stay unchanged long enough for that.
func (o *Operator) wholly(ctx context.Context, l layout.Layout, name string) (*protocol.View, fence, error) {
	f, err := o.newFence(ctx, l)
	if err != nil {
		return nil, nil, readError(err, "look at job %s", name)
	}
	v, err := o.readJob(ctx, l, name)
	return v, f, err
}

// outlined reads a job without its items; the view may mix several moments. The fence fails once a
// member has joined, or has begun or ended a run. With OnlyIf it reads the whole job.
func (o *Operator) outlined(ctx context.Context, l layout.Layout, name string) (*protocol.View, fence, error) {
	var v *protocol.View
	var f fence
	var err error
	if o.onlyIf != nil {
		v, f, err = o.wholly(ctx, l, name)
	} else if v, err = o.readView(ctx, l, l.Outline(), false); err != nil {
		err = readError(err, "look at job %s", name)
	} else if !v.Exists || !isJob(v) {
		err = o.noJob(ctx, name)
	}
	if err != nil {
		return nil, nil, err
	}
	return v, append(f, l.CheckRecords(v)...), nil
}

// decidedBy reads the nodes that decide about a request; the view may mix several moments. The fence
// fails once one of these nodes has changed. It reads the whole job with OnlyIf, and if the
// configuration is unreadable or missing: then the view says what is wrong.
func (o *Operator) decidedBy(a protocol.Ask) look {
	return func(ctx context.Context, l layout.Layout, name string) (*protocol.View, fence, error) {
		names := l.DecidedBy(a)
		if names == nil || o.onlyIf != nil {
			return o.wholly(ctx, l, name)
		}
		var paths []string
		for _, n := range names {
			if path := l.At(n); registry.ValidPath(path) { // an address may be anything
				paths = append(paths, path)
			}
		}
		nodes, err := o.readAll(ctx, paths, readsAtOnce)
		if err != nil {
			return nil, nil, readError(err, "look at job %s", name)
		}
		var f fence
		d := l.NewDecoder(nil)
		for i, n := range nodes {
			d.Apply(paths[i], n)
			if n.Exists { // a node that appears meanwhile makes its Create fail
				f = append(f, registry.Op{Kind: registry.Check, Path: paths[i], Version: n.Stat.Version})
			}
		}
		if v := d.View(); v.Config != nil {
			return v, f, nil
		}
		return o.wholly(ctx, l, name)
	}
}

// editableView is presentView for a change of the job. It refuses a job without a readable configuration.
func (o *Operator) editableView(ctx context.Context, what, name string, by look) (*protocol.View, layout.Layout, fence, error) {
	v, l, f, err := o.presentView(ctx, what, name, by)
	switch {
	case err != nil:
		return nil, l, nil, err
	case v.ConfigFault != "":
		return nil, l, nil, failf(host.Refused, nil, "%s job %s: its configuration cannot be read, so nothing was changed: %s", what, name, v.ConfigFault)
	case v.Config == nil:
		return nil, l, nil, failf(host.Refused, nil, "%s job %s: %s", what, name, reason.Of(reason.ConfigGone))
	}
	return v, l, f, nil
}

// presentView reads a job with by, after a sync. Errors begin with what. Without the sync, the view may be older
// than another operator's last change, since a server of ZooKeeper may lag behind the others. A verb that
// reverts that change would then find nothing to do.
func (o *Operator) presentView(ctx context.Context, what, name string, by look) (*protocol.View, layout.Layout, fence, error) {
	if err := o.session.Sync(ctx); err != nil {
		return nil, nil, nil, readError(err, "%s job %s", what, name)
	}
	l, err := o.found(ctx, name)
	if err != nil {
		return nil, nil, nil, err
	}
	v, f, err := by(ctx, l, name)
	return v, l, f, err
}
