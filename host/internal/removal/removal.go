// Package removal deletes the nodes of a job without a definition, in parts. A removal in parts
// deletes the definition first, and makes a mark that stays until the rest has gone. Whether a job is
// to be removed is decided elsewhere.
//
// Flow: Nodes → Parts → Ops of each; Once does that on a session.
package removal

import (
	"context"
	"errors"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

// AtOnce is the number of nodes per transaction when a job has too many for one.
const AtOnce = 1000

// Once tries once to delete each node of a job without a definition. MayPass tells the errors after
// which the same may succeed.
func Once(ctx context.Context, s registry.Requests, l layout.Layout) error {
	nodes, err := Nodes(ctx, s, l.Root())
	if err != nil {
		return err
	}
	parts := Parts(l, nodes, AtOnce)
	for k, part := range parts {
		if k+1 == len(parts) && err != nil {
			return err // the mark stays
		}
		deleted := deleteEach(ctx, s, l, part)
		if deleted != nil && !MayPass(deleted) {
			return deleted
		}
		err = errors.Join(err, deleted)
	}
	return err
}

// Parts divides the nodes of a job into transactions. The last has the mark, and the nodes above it.
func Parts(l layout.Layout, nodes []string, atOnce int) [][]string {
	if len(nodes) == 0 {
		return nil
	}
	above, mark := l.Removal()
	var rest, last []string
	for _, path := range nodes {
		if path == mark || path == above || path == l.Root() {
			last = append(last, path)
		} else {
			rest = append(rest, path)
		}
	}
	return append(slices.Collect(slices.Chunk(rest, atOnce)), last)
}

// Ops deletes nodes. It is refused if the job has a definition again, or the mark has gone.
func Ops(l layout.Layout, nodes []string) []registry.Op {
	config, _, _ := l.Nodes()
	_, mark := l.Removal()
	undefined := registry.Op{Kind: registry.Absent, Path: config}
	marked := registry.Op{Kind: registry.Check, Path: mark, Version: registry.AnyVersion}
	return append([]registry.Op{undefined, marked}, Deletions(nodes)...)
}

// deleteEach deletes nodes but those that change meanwhile, about which it returns an error.
func deleteEach(ctx context.Context, s registry.Requests, l layout.Layout, nodes []string) error {
	_, err := s.Commit(ctx, Ops(l, nodes)...)
	c, ok := errors.AsType[*registry.ConflictError](err)
	if !ok || c.Op.Kind != registry.Delete || len(nodes) == 1 || slices.Contains(nodes, l.Root()) {
		return err
	}
	half := len(nodes) / 2
	err = deleteEach(ctx, s, l, nodes[:half])
	if err != nil && !MayPass(err) {
		return err
	}
	rest := deleteEach(ctx, s, l, nodes[half:])
	if rest != nil && !MayPass(rest) {
		return rest
	}
	return errors.Join(err, rest)
}

// MayPass reports whether the same may succeed when it is tried again.
func MayPass(err error) bool {
	return errors.Is(err, registry.ErrConflict) || errors.Is(err, registry.ErrUnknown)
}

// Nodes lists a node and all nodes below it, children first.
func Nodes(ctx context.Context, s registry.Requests, path string) ([]string, error) {
	n, err := s.Read(ctx, path)
	if err != nil || !n.Exists {
		return nil, err
	}
	var all []string
	for _, c := range n.Children {
		below, err := Nodes(ctx, s, path+"/"+c)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return append(all, path), nil
}

// Deletions deletes nodes, whatever their version.
func Deletions(nodes []string) []registry.Op {
	ops := make([]registry.Op, 0, len(nodes))
	for _, path := range nodes {
		ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
	}
	return ops
}
