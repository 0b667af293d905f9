package sim

import (
	"path"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	damaging = "somebody damages a node" // the origin of damage, which the ledger ignores
	garbage  = "garbage"
)

// damage makes a node unreadable for a while. The repair writes the old value, so the
// ledger sees no change.
func (w *World) damage(v *protocol.View) {
	config := w.job.At(w.job.Watched()[1]) // the node of the configuration
	paths := []string{config}
	for _, key := range w.job.Keys(w.tree.Get(config)) { // layouts with a node for each setting
		if path.Base(key) == "shardingTotalCount" { // its text is a number
			paths = append(paths, key)
		}
	}
	for _, op := range w.job.Encode(protocol.Abdicate{Self: v.Leader}, v) {
		if op.Kind == registry.Set && len(op.Data) > 0 { // the leader's record
			paths = append(paths, op.Path)
		}
	}
	for _, op := range w.job.Encode(protocol.Owners{}, v) {
		if op.Kind == registry.Check { // the assignment
			paths = append(paths, op.Path)
		}
	}
	p := paths[w.rng.IntN(len(paths))]
	was := w.tree.Get(p)
	if !was.Exists || string(was.Data) == garbage {
		return
	}
	w.apply(nil, []registry.Op{{Kind: registry.Set, Path: p, Data: []byte(garbage), Version: registry.AnyVersion}}, origin{what: damaging})
	w.damaged++
	w.after(w.between(50*millisecond, 3*second), func() {
		w.damaged--
		// If the leader's node was deleted and created again meanwhile, it belongs to
		// another leader, and may be damaged as well. Then the old value is not its own.
		if n := w.tree.Get(p); n.Exists && n.Stat.Created == was.Stat.Created && string(n.Data) == garbage {
			w.apply(nil, []registry.Op{{Kind: registry.Set, Path: p, Data: was.Data, Version: registry.AnyVersion}}, origin{what: "somebody mends a node"})
			if w.calm { // requests that waited for the repair can be carried out only now
				w.after(w.timeout/2, w.undo)
			}
		}
	})
}

// strayMark creates a mark without a session on an item: a running mark or, if runs have
// none or the item has one, a failover mark.
func (w *World) strayMark(v *protocol.View) {
	i := w.rng.IntN(v.Config.Total)
	if i >= len(v.Items) || !v.Items[i].Exists {
		return
	}
	it := v.Items[i]
	monitored := v.Config.MonitorExecution && !it.Marked()
	// It spells the paths of both marks.
	for _, op := range w.job.Encode(protocol.Take{Self: visitor, Items: []int{i}, Monitor: true}, v) {
		running := len(op.Data) == 0
		if op.Kind != registry.CreateEphemeral || running != monitored || !running && it.Failover != "" {
			continue
		}
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: op.Path, Data: op.Data}}, origin{what: "somebody leaves a mark"})
		w.stray = op.Path
		return
	}
}
