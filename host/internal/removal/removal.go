// Package removal deletes what is left of jobs whose removal was cut off. A removal in parts
// takes the definition first, and leaves a mark in its place until the rest is gone. It judges no
// job: whether one is to be removed is decided elsewhere.
//
// Flow: Rest finds the mark → Once deletes what is below the job's node, the mark last.
package removal

import (
	"context"
	"errors"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

// AtOnce is the number of nodes per transaction when a job has too many for one.
const AtOnce = 1000

// Rest returns on what it depends that there is nothing but the rest of a job whose removal was
// cut off; none if that is not so. The mark tells it from the nodes of a nested namespace. A job
// that was defined since is none, nor one that has members which have yet to leave. read reads
// nodes in their order.
func Rest(ctx context.Context, s registry.Requests, l layout.Layout, read func([]string) ([]registry.Node, error)) (still []registry.Op, err error) {
	_, mark := l.Removal()
	n, err := s.Read(ctx, mark)
	if err != nil || !n.Exists {
		return nil, err
	}
	w := follow.NewWatch(l, l.Outline())
	w.Read = read
	v, err := w.View()
	if err != nil {
		return nil, err
	}
	if v.Config != nil || v.ConfigFault != "" || len(v.Instances)+len(v.Members) > 0 { // records of dead members hold up nothing
		return nil, nil
	}
	config, _, _ := l.Nodes()
	return []registry.Op{{Kind: registry.Absent, Path: config}, {Kind: registry.Check, Path: mark, Version: n.Stat.Version}}, nil
}

// Once tries once to delete each node of a job without a definition. The mark goes last, with the
// nodes above it. MayPass tells the errors after which the same may succeed.
func Once(ctx context.Context, s registry.Requests, l layout.Layout) error {
	nodes, err := Nodes(ctx, s, l.Root())
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
	for chunk := range slices.Chunk(rest, AtOnce) {
		swept := sweep(ctx, s, unless, chunk)
		if swept != nil && !MayPass(swept) {
			return swept
		}
		err = errors.Join(err, swept)
	}
	if err != nil || len(last) == 0 {
		return err
	}
	_, err = s.Commit(ctx, append([]registry.Op{unless}, Deletions(last)...)...)
	return err
}

// sweep deletes nodes but those that change meanwhile, about which it returns an error.
func sweep(ctx context.Context, s registry.Requests, unless registry.Op, nodes []string) error {
	_, err := s.Commit(ctx, append([]registry.Op{unless}, Deletions(nodes)...)...)
	c, ok := errors.AsType[*registry.ConflictError](err)
	if !ok || c.Op.Path == unless.Path || len(nodes) == 1 {
		return err
	}
	half := len(nodes) / 2
	err = sweep(ctx, s, unless, nodes[:half])
	if err != nil && !MayPass(err) {
		return err
	}
	rest := sweep(ctx, s, unless, nodes[half:])
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
