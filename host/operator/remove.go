package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/missed"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// removeAtOnce is how many nodes one transaction removes of a job that has too
// many for a single one.
const removeAtOnce = 1000

// Record gives the Operator a history. What a job has missed that no server runs is
// stored there before Remove takes the job away. It is for the registry inside a
// server: on one that servers share, nobody knows all histories.
func (o *Operator) Record(to trace.Sink) { o.rows = to }

func (o *Operator) recordMissed(ctx context.Context, name string) error {
	if o.rows == nil {
		return nil
	}
	whole := func(ctx context.Context) (*protocol.View, error) {
		v, _, err := o.whole(ctx, name)
		return v, err
	}
	var refused error
	j := missed.Job{
		Name: name, Layout: layout.NewJob(o.namespace, name), Registry: o.session, View: whole, Removed: true,
		Refused: func(r trace.Row, err error) { refused = fmt.Errorf("item %d, run %s: %w", r.Item, r.Run, err) },
	}
	if _, err := j.Record(ctx, o.rows); err != nil {
		return askError("remove", name, err)
	}
	if refused != nil {
		return failf(host.Refused, refused, "the history takes no row of job %s; remove it again to go on without that row", name)
	}
	return nil
}

// Remove takes a job out of the registry, with its configuration and with what
// its guests keep; rows of its runs stay in the histories, and after Record what it
// has missed while no server ran it gets one. It is refused while an item runs.
// Servers that run it stop; one whose own file defines it makes it again when it
// starts next. It is refused, if not forced, while a server that runs it
// has such a file, or what Compare was given has the job; files of servers that do
// not run are not known.
func (o *Operator) Remove(ctx context.Context, name string, force bool) error {
	const what = "remove"
	if !force {
		if err := o.returns(ctx, name); err != nil {
			return err
		}
	}
	if err := o.recordMissed(ctx, name); err != nil {
		return err
	}
	for try := 1; ; try++ {
		v, l, err := o.whole(ctx, name)
		if err != nil {
			return err
		}
		told := o.rows != nil && v.WithoutServer() // what was left open has its row
		for i := range v.Runs {
			if len(v.Runs[i].Open) > 0 && !told {
				return failf(host.Refused, nil, "remove job %s: %s runs items of it; pause the job and wait for their end", name, v.Runs[i].ID)
			}
		}
		nodes, err := o.nodes(ctx, l.Root())
		if err != nil {
			return unread(err, "look at job %s", name)
		}
		switch err := o.removeNodes(ctx, l, nodes); {
		case err == nil:
			return nil
		case try == askTries || !errors.Is(err, registry.ErrConflict) && !errors.Is(err, registry.ErrUnknown):
			return askError(what, name, err)
		}
		if err := o.session.Sync(ctx); err != nil {
			return askError(what, name, err)
		}
		if n, err := o.session.Read(ctx, l.Root()); err == nil && !n.Exists {
			return nil // that was what is not known
		}
	}
}

// nodes lists a node and all below it, children first.
func (o *Operator) nodes(ctx context.Context, path string) ([]string, error) {
	n, err := o.session.Read(ctx, path)
	if err != nil || !n.Exists {
		return nil, err
	}
	var all []string
	for _, c := range n.Children {
		below, err := o.nodes(ctx, path+"/"+c)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return append(all, path), nil
}

// removeNodes removes all at once, so that nobody sees half a job, or else what
// defines the job first.
func (o *Operator) removeNodes(ctx context.Context, l layout.Layout, nodes []string) error {
	_, err := o.session.Commit(ctx, deletions(nodes)...)
	if !errors.Is(err, registry.ErrTooLarge) {
		return err
	}
	config, module, _ := l.Nodes()
	defines := func(path string) bool { return path == config || path == module }
	first := slices.DeleteFunc(slices.Clone(nodes), func(path string) bool { return !defines(path) })
	rest := slices.DeleteFunc(slices.Clone(nodes), defines)
	for chunk := range slices.Chunk(slices.Concat(first, rest), removeAtOnce) {
		if _, err := o.session.Commit(ctx, deletions(chunk)...); err != nil {
			return err
		}
	}
	return nil
}

func deletions(nodes []string) []registry.Op {
	ops := make([]registry.Op, 0, len(nodes))
	for _, path := range nodes {
		ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
	}
	return ops
}
