// Package removal deletes the nodes of a job without a definition, in parts. A removal in parts
// deletes the definition first, and creates a mark that stays until the rest is deleted. The callers
// decide whether to remove a job.
//
// Flow: the nodes → Parts → Ops of each; Once does that on a session, while it reads.
package removal

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

// AtOnce is the number of nodes per transaction when a job has too many for one.
const AtOnce = 1000

// Once tries once to delete each node of a job without a definition. It deletes what it has read before
// it reads on, so that calls which are cut off again and again finish together. MayPass reports the
// errors after which a further call may succeed.
func Once(ctx context.Context, s registry.Requests, l layout.Layout) error {
	t := &tree{ctx: ctx, requests: s}
	var stays error
	for part := range Parts(l, t.below(l.Root()), AtOnce) {
		if stays != nil && slices.Contains(part, l.Root()) { // the last part, while some node could not be deleted
			break // the mark stays
		}
		err := deleteEach(ctx, s, l, part)
		if hopeless(err) {
			return err
		}
		stays = errors.Join(stays, err)
	}
	if t.err != nil {
		return t.err
	}
	return stays
}

// Parts divides the nodes of a job, children first, into transactions. The last one has the mark and the
// nodes above it; it comes only if nodes yields the job's root.
func Parts(l layout.Layout, nodes iter.Seq[string], atOnce int) iter.Seq[[]string] {
	above, mark := l.Removal()
	return func(yield func([]string) bool) {
		var part, last []string
		for path := range nodes {
			if path == mark || path == above || path == l.Root() {
				last = append(last, path)
				continue
			}
			if part = append(part, path); len(part) == atOnce {
				if !yield(part) {
					return
				}
				part = nil
			}
		}
		if len(part) > 0 && !yield(part) {
			return
		}
		if slices.Contains(last, l.Root()) {
			yield(last)
		}
	}
}

// Ops is a transaction that deletes nodes. It fails if the job has a definition again, or the mark is
// gone.
func Ops(l layout.Layout, nodes []string) []registry.Op {
	config, _, _ := l.Nodes()
	_, mark := l.Removal()
	undefined := registry.Op{Kind: registry.Absent, Path: config}
	marked := registry.Op{Kind: registry.Check, Path: mark, Version: registry.AnyVersion}
	return append([]registry.Op{undefined, marked}, Deletions(nodes)...)
}

// deleteEach deletes nodes, except those below which nodes appear meanwhile: about these it returns an
// error. If one of them is already gone, it reads which are left, since others may have deleted most.
func deleteEach(ctx context.Context, s registry.Requests, l layout.Layout, nodes []string) error {
	for len(nodes) > 0 {
		_, err := s.Commit(ctx, Ops(l, nodes)...)
		c, refused := errors.AsType[*registry.ConflictError](err)
		switch {
		case err == nil, Overtaken(err), slices.Contains(nodes, l.Root()): // the last part is not divided
			return err
		case refused && c.Reason == registry.NoNode:
			if nodes, err = present(ctx, s, nodes); err != nil {
				return err
			}
		case (refused || errors.Is(err, registry.ErrTooLarge)) && len(nodes) > 1:
			half := len(nodes) / 2
			first := deleteEach(ctx, s, l, nodes[:half])
			if hopeless(first) {
				return first
			}
			second := deleteEach(ctx, s, l, nodes[half:])
			if hopeless(second) {
				return second
			}
			return errors.Join(first, second)
		default:
			return err
		}
	}
	return nil
}

// present returns those of the nodes that exist.
func present(ctx context.Context, s registry.Requests, nodes []string) (there []string, err error) {
	for _, path := range nodes {
		n, err := s.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		if n.Exists {
			there = append(there, path)
		}
	}
	return there, nil
}

// MayPass reports whether the same may succeed in another try.
func MayPass(err error) bool {
	return errors.Is(err, registry.ErrConflict) || errors.Is(err, registry.ErrUnknown)
}

// Overtaken reports whether there is no rest any more: the job has a definition again, or the mark is gone.
func Overtaken(err error) bool {
	c, ok := errors.AsType[*registry.ConflictError](err)
	return ok && c.Op.Kind != registry.Delete
}

// hopeless reports whether, after this error, the job's other nodes cannot be deleted, either.
func hopeless(err error) bool { return err != nil && (!MayPass(err) || Overtaken(err)) }

// Nodes lists a node and all nodes below it, children first.
func Nodes(ctx context.Context, s registry.Requests, path string) ([]string, error) {
	t := &tree{ctx: ctx, requests: s}
	nodes := slices.Collect(t.below(path))
	return nodes, t.err
}

// tree reads the nodes of a job.
type tree struct {
	ctx      context.Context //nolint:containedctx // of the one call that uses the tree
	requests registry.Requests
	err      error // why a node could not be read
}

// below lists a node and all nodes below it, children first, until one cannot be read.
func (t *tree) below(path string) iter.Seq[string] {
	return func(yield func(string) bool) { t.walk(path, yield) }
}

// walk yields the nodes below a path and then the path's own, and reports whether to go on.
func (t *tree) walk(path string, yield func(string) bool) bool {
	n, err := t.requests.Read(t.ctx, path)
	if t.err = err; err != nil || !n.Exists {
		return err == nil
	}
	for _, c := range n.Children {
		if !t.walk(path+"/"+c, yield) {
			return false
		}
	}
	return yield(path)
}

// Deletions are the operations that delete nodes, whatever their versions.
func Deletions(nodes []string) []registry.Op {
	ops := make([]registry.Op, 0, len(nodes))
	for _, path := range nodes {
		ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
	}
	return ops
}
