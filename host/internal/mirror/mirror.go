// Package mirror keeps a coherent copy of a job's nodes out of one-shot
// watches and single reads. It is pure: it is told of events and replies, and
// tells which paths to read and what has changed; the reading itself is the
// business of package runner, or of the simulator. It knows nothing of what
// the nodes mean.
//
// A mirror that has settled shows what was true all at once. For the service
// delivers the event of a change before any reply that could show the change,
// and whoever feeds the mirror keeps that order. So if every path was read and
// no event has come for it since, none had changed when the last reply was
// given. Before it has settled, nothing may be decided on it.
//
// Flow: New → Wanted → (read each, arming its watch) → Reply → Settled →
// Changes; later Event → Wanted → …
package mirror

import "github.com/wasmjob/wasmjob/host/registry"

// Follow tells which paths below a node are mirrored, given the node. It may
// name paths that do not exist: their creation is watched for.
type Follow func(path string, n registry.Node) []string

// Read is a wanted read; it arms the watch of its path.
type Read struct {
	Path  string
	token int64
}

// Change is a node whose copy changed.
type Change struct {
	Path string
	Node registry.Node
}

// Mirror is the copy. Make it with New.
type Mirror struct {
	follow  Follow
	roots   []string
	nodes   map[string]*entry
	queue   []string // dirty paths in the order in which they became so
	open    int      // paths that are dirty or being read
	tokens  int64
	changes []Change
	down    bool // the connection is away: nothing is read, nothing settles
}

type entry struct {
	node  registry.Node
	known bool // node was read at least once
	phase phase
	token int64
	kids  []string
}

type phase uint8

const (
	clean phase = iota
	dirty
	reading
	stale // changed while being read: to be read again
)

// New is a mirror of the given paths and whatever follow says below them.
func New(paths []string, follow Follow) *Mirror {
	m := &Mirror{follow: follow, roots: paths, nodes: map[string]*entry{}}
	for _, p := range paths {
		m.add(p)
	}
	return m
}

func (m *Mirror) add(path string) {
	if m.nodes[path] != nil {
		return
	}
	m.nodes[path] = &entry{phase: dirty}
	m.open++
	m.queue = append(m.queue, path)
}

// Event takes an event of the session.
func (m *Mirror) Event(e registry.Event) {
	switch e.Kind {
	case registry.Changed:
		if n := m.nodes[e.Path]; n != nil {
			m.soil(e.Path, n)
		}
	case registry.Suspended, registry.Ended:
		m.down = true
	case registry.Resumed:
		m.down = false
		m.Reread()
	}
}

// Reread makes every path dirty.
func (m *Mirror) Reread() {
	for _, p := range m.roots {
		m.soilAll(p)
	}
}

func (m *Mirror) soilAll(path string) {
	n := m.nodes[path]
	if n == nil {
		return
	}
	m.soil(path, n)
	for _, k := range n.kids {
		m.soilAll(k)
	}
}

func (m *Mirror) soil(path string, n *entry) {
	switch n.phase {
	case clean:
		n.phase = dirty
		m.open++
		m.queue = append(m.queue, path)
	case reading:
		n.phase = stale
	case dirty, stale:
	}
}

// Wanted lists the reads to issue now; each is answered by Reply or Failed.
func (m *Mirror) Wanted() []Read {
	if m.down || len(m.queue) == 0 {
		return nil
	}
	reads := make([]Read, 0, len(m.queue))
	for _, p := range m.queue {
		n := m.nodes[p]
		if n == nil || n.phase != dirty {
			continue
		}
		m.tokens++
		n.phase, n.token = reading, m.tokens
		reads = append(reads, Read{Path: p, token: n.token})
	}
	m.queue = m.queue[:0]
	return reads
}

// Reply takes the answer to a read.
func (m *Mirror) Reply(r Read, node registry.Node) {
	n := m.nodes[r.Path]
	if n == nil || n.token != r.token {
		return // dropped meanwhile
	}
	if n.phase == stale {
		// The answer may be older than the event; the node is read once more.
		n.phase = dirty
		m.queue = append(m.queue, r.Path)
		return
	}
	n.phase = clean
	m.open--
	if n.known && same(n.node, node) {
		return
	}
	if n.known || node.Exists {
		m.changes = append(m.changes, Change{r.Path, node})
	}
	n.node, n.known = node, true
	m.refollow(r.Path, n)
}

// Failed says that a read got no answer; it is wanted again.
func (m *Mirror) Failed(r Read) {
	n := m.nodes[r.Path]
	if n == nil || n.token != r.token || n.phase == clean || n.phase == dirty {
		return
	}
	n.phase = dirty
	m.queue = append(m.queue, r.Path)
}

func (m *Mirror) refollow(path string, n *entry) {
	old := n.kids
	n.kids = m.follow(path, n.node)
	for _, k := range n.kids {
		m.add(k)
	}
	if len(old) == 0 {
		return
	}
	kept := make(map[string]bool, len(n.kids))
	for _, k := range n.kids {
		kept[k] = true
	}
	for _, k := range old {
		if !kept[k] {
			m.drop(k)
		}
	}
}

func (m *Mirror) drop(path string) {
	n := m.nodes[path]
	if n == nil {
		return
	}
	if n.phase != clean {
		m.open--
	}
	if n.known && n.node.Exists {
		m.changes = append(m.changes, Change{Path: path})
	}
	delete(m.nodes, path)
	for _, k := range n.kids {
		m.drop(k)
	}
}

// Settled tells whether the copy is one moment of the tree.
func (m *Mirror) Settled() bool { return m.open == 0 && !m.down }

// Changes gives what changed since the last call, in order, the newest of each
// path last. Ask only when Settled.
func (m *Mirror) Changes() []Change {
	c := m.changes
	m.changes = nil
	return c
}

// same: no field that an edge compares differs.
func same(a, b registry.Node) bool {
	return a.Exists == b.Exists && a.Stat == b.Stat
}
