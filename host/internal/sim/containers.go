package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
)

// container notes that a member of 3.0.4 has made a node as a container. ZooKeeper deletes
// it some time after its last child has gone.
func (w *World) container(path string) {
	if len(w.containers) == 0 {
		w.after(w.between(second, 30*second), w.sweep)
	}
	if !slices.Contains(w.containers, path) {
		w.containers = append(w.containers, path)
	}
}

// sweep deletes containers that are empty. Like ZooKeeper, it leaves one that never had
// a child. A path is forgotten once it has no node, since the next node there may be of
// another kind.
func (w *World) sweep() {
	left := slices.DeleteFunc(slices.Clone(w.containers), func(p string) bool {
		n := w.tree.Get(p)
		if !n.Exists || len(n.Children) > 0 || n.Stat.ChildVersion == 0 {
			return !n.Exists
		}
		w.apply(nil, []registry.Op{{Kind: registry.Delete, Path: p, Version: registry.AnyVersion}}, origin{what: "an empty container goes"})
		return true
	})
	if w.containers = left; len(left) > 0 {
		w.after(w.between(second, 30*second), w.sweep)
	}
}
