package migration

import (
	"bytes"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Plan lists the writes of a migration. Its operations carry the versions of the nodes from
// which it was made, and are refused if one has changed.
type Plan struct {
	From, To string
	// Copy creates nodes of ours that no member reads before Turn. It may be written in
	// parts, in order. Then Turn must be planned again, since members may have come
	// meanwhile.
	Copy []registry.Op
	// Turn changes the layout, in one transaction.
	Turn []registry.Op
	// Rest deletes nodes that no member reads after Turn. It may be written in parts, in
	// order.
	Rest []registry.Op
	// Fence goes with each part of Copy and Rest. It refuses the part if another migration has
	// changed the layout since the plan. With Rest of a way back it also refuses the Turn of a
	// migration that was planned with the nodes that the part deletes.
	Fence []registry.Op
	// Notes name what the layout cannot hold, each with the path or the key.
	Notes []string
	// Done is why there is nothing to write.
	Done string

	job jobtree.Job // in the layout To, if this release knows that
}

// Ops returns all operations in order. A Plan with Rest has no Copy.
func (p *Plan) Ops() []registry.Op {
	if len(p.Rest) == 0 {
		return slices.Concat(p.Copy, p.Turn)
	}
	return slices.Concat(p.Turn, p.Fence, p.Rest)
}

// Write is one node that changes.
type Write struct {
	Op   string // create, set, delete, or renew (delete and create)
	Path string
	Data []byte
}

// Writes returns all changes in order, without Fence, which changes no value. A node that
// is deleted and created again is one change, "renew".
func (p *Plan) Writes() []Write {
	var all []Write
	deleted := map[string]int{} // by path: the index in all
	for _, op := range slices.Concat(p.Copy, p.Turn, p.Rest) {
		switch op.Kind {
		case registry.Delete:
			deleted[op.Path] = len(all)
			all = append(all, Write{"delete", op.Path, nil})
		case registry.Set:
			all = append(all, Write{"set", op.Path, op.Data})
		case registry.Create:
			if k, ok := deleted[op.Path]; ok {
				all[k].Path = "" // it is created again
				all = append(all, Write{"renew", op.Path, op.Data})
				continue
			}
			all = append(all, Write{"create", op.Path, op.Data})
		default: // Check and Absent change nothing
		}
	}
	return slices.DeleteFunc(all, func(w Write) bool { return w.Path == "" })
}

// Masked returns the new value of a node without secrets.
func (p *Plan) Masked(w Write) string {
	if strings.HasSuffix(w.Path, "/"+jobtree.KeyCommand) {
		return "***"
	}
	return p.job.Masked(w.Path, w.Data)
}

// anew are nodes that Turn deletes, with all below them, and creates again. If a member has
// come meanwhile, that is refused, because the member registered below one of them. In layout 1
// config is such a node as well, because somebody may have created a key.
func (p *Plan) anew(path string) bool {
	return within(path, jobtree.NodeServers, jobtree.NodeInstances) || p.From == job.Layout1 && path == jobtree.NodeConfig
}

// change plans the writes from t to want. Those of nodes that nobody reads before the job has
// the new layout go to Copy, which is sent first and may take several transactions. All others go to
// Turn, the one transaction that changes the layout.
func (p *Plan) change(root string, t, want Tree) {
	add := func(path string, op registry.Op) {
		op.Path = at(root, path)
		if byServer(p.From) && path != jobtree.NodeMigration && within(path, copies(t.ours())...) {
			p.Copy = append(p.Copy, op)
		} else {
			p.Turn = append(p.Turn, op)
		}
	}
	for _, path := range []string{"", jobtree.NodeConfig, jobtree.NodeMembers} {
		if n, ok := t[path]; ok && bytes.Equal(n.Data, want[path].Data) {
			p.Turn = append(p.Turn, registry.Op{Kind: registry.Check, Path: at(root, path), Version: n.Stat.Version})
		}
	}
	if !t[jobtree.NodeMembers].Exists { // if a member of ours has joined since, the node is there, even if the member has left again
		p.Turn = append(p.Turn, registry.Op{Kind: registry.Absent, Path: at(root, jobtree.NodeMembers)})
	}
	for _, path := range slices.Backward(t.paths()) {
		if _, stays := want[path]; !stays || p.anew(path) {
			add(path, registry.Op{Kind: registry.Delete, Version: t[path].Stat.Version})
		}
	}
	for _, path := range want.paths() {
		n, there := t[path]
		switch {
		case !there || p.anew(path):
			add(path, registry.Op{Kind: registry.Create, Data: want[path].Data})
		case !bytes.Equal(n.Data, want[path].Data):
			add(path, registry.Op{Kind: registry.Set, Data: want[path].Data, Version: n.Stat.Version})
		}
	}
}

// sweepCopies plans to delete what a migration from layout 1 or 2.0 has copied, once the
// job has that layout again. The job's own node is empty there; each part sets it, so that
// a Turn that was planned before is refused. ours says that servers of ours have run the
// job; otherwise a part is refused once they do.
func (p *Plan) sweepCopies(root string, t Tree, ours bool) {
	p.Fence = []registry.Op{
		{Kind: registry.Absent, Path: at(root, jobtree.NodeMigration)},
		{Kind: registry.Set, Path: root, Data: t[""].Data, Version: registry.AnyVersion},
	}
	if !ours {
		p.Fence = append(p.Fence, registry.Op{Kind: registry.Absent, Path: at(root, jobtree.NodeMembers)})
	}
	p.sweep(root, t, copies(ours)...)
}

// sweep plans to delete these nodes, one after the other, each after those below it.
func (p *Plan) sweep(root string, t Tree, nodes ...string) {
	for _, node := range nodes {
		for _, path := range slices.Backward(t.paths()) {
			if within(path, node) {
				p.Rest = append(p.Rest, registry.Op{Kind: registry.Delete, Path: at(root, path), Version: registry.AnyVersion})
			}
		}
	}
}

// at returns the whole path of a node, by its path below the job's own node; "" is that
// node.
func at(root, path string) string {
	if path == "" {
		return root
	}
	return root + "/" + path
}

// within reports whether a path is one of the nodes, or below one.
func within(path string, nodes ...string) bool {
	return slices.ContainsFunc(nodes, func(node string) bool { return path == node || strings.HasPrefix(path, node+"/") })
}
