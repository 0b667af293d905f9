package migration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// order is the order of the layouts, from the oldest.
var order = []string{job.Layout1, job.Layout20, job.Layout21, job.Layout3}

// Tree is all nodes of a job, by their paths below the job's own, which has the path "".
type Tree map[string]registry.Node

// paths are ascending, so that a node comes before those below it.
func (t Tree) paths() []string { return slices.Sorted(maps.Keys(t)) }

func (t Tree) put(path string, data []byte) { t[path] = registry.Node{Exists: true, Data: data} }

// linked returns a copy of the tree in which the children of each node are those that the
// tree has, whatever its nodes list.
func (t Tree) linked() Tree {
	all := make(Tree, len(t))
	for _, path := range t.paths() {
		n := t[path]
		n.Children = nil
		all[path] = n
		if path == "" {
			continue
		}
		above, name := "", path
		if k := strings.LastIndexByte(path, '/'); k >= 0 {
			above, name = path[:k], path[k+1:]
		}
		parent := all[above]
		parent.Children = append(parent.Children, name)
		all[above] = parent
	}
	return all
}

// Same reports whether two reads of a tree gave the same nodes, none of them written in
// between.
func (t Tree) Same(other Tree) bool {
	return maps.EqualFunc(t, other, func(a, b registry.Node) bool {
		return a.Stat.Created == b.Stat.Created && a.Stat.Modified == b.Stat.Modified
	})
}

// without returns a copy of the tree without these nodes and those below them.
func (t Tree) without(nodes ...string) Tree {
	rest := maps.Clone(t)
	maps.DeleteFunc(rest, func(path string, _ registry.Node) bool { return within(path, nodes...) })
	return rest
}

// left are nodes of layouts 1 and 2.0 that members of later layouts do not read. They stay
// as long as the migration can be taken back.
var left = []string{servertree.Execution, "offset", "leader/execution"}

// ours reports whether servers of ours have run the job.
func (t Tree) ours() bool { return t[jobtree.NodeMembers].Exists }

// copies are the nodes that a migration from layout 1 or 2.0 creates before its turn,
// because members of that layout do not read them. If servers of ours have run the job,
// they read all nodes below wasm.
func copies(ours bool) []string {
	if ours {
		return []string{jobtree.NodeSharding}
	}
	return []string{jobtree.NodeWasm, jobtree.NodeSharding}
}

// layout returns the layout of the tree. It refuses a tree that also has nodes of another
// layout, since its members may still run. m is the migration that is kept for going back,
// or nil; nodes that stay for that are accepted.
func (t Tree) layout(m *spelling.Migration) (string, error) {
	if t[jobtree.NodeRemoval].Exists && !t[jobtree.NodeConfig].Exists {
		return "", errors.New("only the rest of an unfinished removal is there; job remove finishes it")
	}
	var servers []registry.Node
	for _, ip := range t[jobtree.NodeServers].Children {
		servers = append(servers, t[jobtree.NodeServers+"/"+ip])
	}
	of := layout.Of(t[""], t[jobtree.NodeConfig], servers)
	if of == "" {
		return "", errors.New("its nodes show no layout: config is missing, or damaged")
	}
	for _, path := range t.paths() {
		is := familyOf(path, t[path])
		if is == "" || is == families[byServer(of)] || byServer(is) && m != nil && within(path, left...) {
			continue
		}
		return "", fmt.Errorf("it is half of one layout and half of another: by config and servers it is of layout %s, and %s is of layout %s. "+
			"Find out which members are the job's, and delete the nodes of the others", of, path, is)
	}
	if err := t.members(of); err != nil {
		return "", err
	}
	return of, t.whole(of)
}

// members refuses a tree of layout 1 or 2.0 with nodes that only servers of ours write, but without
// that of their members. It would count as an interrupted migration, of which such nodes are deleted.
func (t Tree) members(of string) error {
	if !byServer(of) || t.ours() {
		return nil
	}
	for _, path := range t.paths() {
		if path != jobtree.NodeWasm && within(path, jobtree.NodeWasm) && !within(path, jobtree.NodeAssignment, jobtree.NodeItems, jobtree.NodePaused, jobtree.NodeMigration) {
			return fmt.Errorf("%s is of servers of ours, and %s is gone, without which it would be deleted: create that again if they have run the job, or delete %s",
				path, jobtree.NodeMembers, path)
		}
	}
	return nil
}

// byServer reports whether a layout, or the name of a family, keeps its members below
// servers.
func byServer(of string) bool { return of == job.Layout1 || of == job.Layout20 || of == families[true] }

// families are the names of groups of layouts that keep members in the same nodes, by
// whether these are below servers.
var families = map[bool]string{true: "1 or 2.0", false: "2.1 or 3"}

// familyOf returns the family of layouts whose members write such a node; "" if both do.
// Marks for a misfire and a disabled item count as both, since an interrupted migration
// leaves them.
func familyOf(path string, n registry.Node) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	switch {
	case within(path, left...), path == servertree.Host, parts[0] == jobtree.NodeServers && len(parts) == 3:
		return families[true]
	case within(path, jobtree.NodeInstances, jobtree.NodeTrigger, jobtree.NodeLeaderInstance),
		parts[0] == jobtree.NodeServers && len(parts) == 2 && len(n.Data) > 0,
		parts[0] == jobtree.NodeSharding && len(parts) == 3 && last != jobtree.MarkMisfire && last != jobtree.MarkDisabled:
		return families[false]
	}
	return ""
}

// whole refuses a configuration of the layout of, if it has parts as in another layout.
func (t Tree) whole(of string) error {
	var also string
	config := strings.TrimSpace(string(t[jobtree.NodeConfig].Data))
	switch {
	case of != job.Layout1 && len(t[jobtree.NodeConfig].Children) > 0:
		also = "keys of " + jobtree.NodeConfig + " are nodes"
	case of != job.Layout3 && strings.TrimSpace(string(t[""].Data)) != "":
		also = "the job's own node names a class"
	case of == job.Layout3 && strings.HasPrefix(config, "{"):
		also = jobtree.NodeConfig + " has JSON"
	case of == job.Layout21 && t[jobtree.NodeTrigger].Exists:
		also = "there is " + jobtree.NodeTrigger
	default:
		return nil
	}
	return fmt.Errorf("it is half of one layout and half of another: by its nodes it is of layout %s, and %s, as in another. "+
		"Find out which members are the job's, and delete what is of the others", of, also)
}

// maxNamed is how many nodes an error names.
const maxNamed = 5

// atRest refuses a tree with a node that a session holds: a member may still run the job.
func (t Tree) atRest() error {
	var held []string
	for _, path := range t.paths() {
		if t[path].Stat.Owner != 0 {
			held = append(held, path)
		}
	}
	if n := len(held); n > maxNamed {
		held = append(held[:maxNamed], fmt.Sprintf("and %d more", n-maxNamed))
	}
	if len(held) > 0 {
		return fmt.Errorf("it is not at rest: sessions hold %s. End its members, ours with job shutdown --all, and wait until their sessions have ended", strings.Join(held, ", "))
	}
	return nil
}
