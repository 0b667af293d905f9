package tree_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// model is the simplest implementation of the tree: a map of values, copied completely before
// each transaction.
type model struct {
	nodes    map[string]modelNode
	revision int64
}

type modelNode struct {
	data                string
	owner               registry.SessionID
	created, set, kids  int64
	version, made, gone int32
}

func newModel() *model { return &model{nodes: map[string]modelNode{"/": {}}} }

func (m *model) end(owner registry.SessionID) {
	m.revision++
	for _, path := range slices.Sorted(maps.Keys(m.nodes)) {
		if m.nodes[path].owner == owner {
			m.drop(path)
		}
	}
}

func (m *model) commit(owner registry.SessionID, ops []registry.Op) (int, registry.Reason) {
	before := maps.Clone(m.nodes)
	m.revision++
	for i, op := range ops {
		if reason := m.apply(owner, op); reason != 0 {
			m.nodes = before
			m.revision--
			return i, reason
		}
	}
	return 0, 0
}

func (m *model) apply(owner registry.SessionID, op registry.Op) registry.Reason {
	n, exists := m.nodes[op.Path]
	switch op.Kind {
	case registry.Create:
		return m.create(op.Path, 0, op)
	case registry.CreateEphemeral:
		return m.create(op.Path, owner, op)
	case registry.CreateSequential:
		return m.create(fmt.Sprintf("%s%010d", op.Path, m.nodes[above(op.Path)].made), 0, op)
	case registry.CreateEphemeralSequential:
		return m.create(fmt.Sprintf("%s%010d", op.Path, m.nodes[above(op.Path)].made), owner, op)
	case registry.Absent:
		if exists {
			return registry.NodeExists
		}
		return 0
	}
	switch {
	case !exists:
		return registry.NoNode
	case op.Version != registry.AnyVersion && op.Version != n.version:
		return registry.BadVersion
	}
	switch op.Kind {
	case registry.Set:
		n.data, n.set = string(op.Data), m.revision
		n.version++
		m.nodes[op.Path] = n
	case registry.Delete:
		if len(m.below(op.Path)) > 0 {
			return registry.NotEmpty
		}
		m.drop(op.Path)
	}
	return 0
}

func (m *model) create(path string, owner registry.SessionID, op registry.Op) registry.Reason {
	parent, found := m.nodes[above(path)]
	_, exists := m.nodes[path]
	switch {
	case exists:
		return registry.NodeExists
	case !found:
		return registry.NoParent
	case parent.owner != 0:
		return registry.EphemeralParent
	}
	m.nodes[path] = modelNode{data: string(op.Data), owner: owner, created: m.revision, set: m.revision, kids: m.revision}
	parent.made++
	parent.kids = m.revision
	m.nodes[above(path)] = parent
	return 0
}

func (m *model) drop(path string) {
	delete(m.nodes, path)
	parent := m.nodes[above(path)]
	parent.gone++
	parent.kids = m.revision
	m.nodes[above(path)] = parent
}

func (m *model) below(path string) []string {
	var names []string
	for p := range m.nodes {
		if p != "/" && above(p) == path {
			names = append(names, p[strings.LastIndexByte(p, '/')+1:])
		}
	}
	slices.Sort(names)
	return names
}

func (m *model) text() string {
	var b strings.Builder
	m.print(&b, "/")
	return b.String()
}

func (m *model) print(b *strings.Builder, path string) {
	n := m.nodes[path]
	kids := m.below(path)
	fmt.Fprintf(b, "%s=%s owner %d c%d m%d p%d v%d cv%d %v\n", path, n.data, n.owner,
		n.created, n.set, n.kids, n.version, n.made+n.gone, kids)
	for _, name := range kids {
		m.print(b, strings.TrimSuffix(path, "/")+"/"+name)
	}
}

func above(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
