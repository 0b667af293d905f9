// Package mirror keeps a coherent copy of a job's nodes out of events and
// single reads. It is pure: it is told of events and replies, and
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
// What a transaction of ours has made of a node need not be read: its answer
// tells. Who else changed the node meanwhile shows in the number of events.
//
// Flow: New → Wanted → (read each) → Reply → Settled → Changes; later Event →
// Wanted → …; with each transaction Submitted → Event → Answered.
package mirror

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Follow tells which paths below a node are mirrored, given the node. It may
// name paths that do not exist: their creation is heard of.
type Follow func(path string, n registry.Node) []string

// Read is a wanted read.
type Read struct {
	Path  string
	token uint32
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
	kids    map[string][]string // what follow names below a path, where it does
	queue   []string            // dirty paths in the order in which they became so
	open    int                 // paths that are dirty or being read
	tokens  uint32              // questions so far: reads and transactions
	gone    []string            // those of that phase, and perhaps others
	changes []Change
	own     map[string]*write // what our transaction under way touches; nil: there is none
	ops     []registry.Op
	// fresh are nodes that our last transaction made below a list that is
	// followed, but has not been read since.
	fresh map[string]registry.Node
	// submitted is the number of that transaction among the questions.
	submitted uint32
	owner     registry.SessionID // our session, once it has written something
	down      bool               // the connection is away: nothing is read, nothing settles
}

// entry is what is remembered of a node: whether another reading differs, and
// what a transaction of ours would make of it. A server has some hundred
// thousand of them, so there is nothing else in it.
type entry struct {
	last  mark
	token uint32
	phase phase
	is    traits
}

// traits are what is known of a node.
type traits uint8

const (
	known   traits = 1 << iota // it was read at least once
	exists                     // it is there
	bound                      // to a session
	ours                       // to that of this mirror
	parent                     // of other nodes
	flashed                    // it is not there, but was since it was looked at
)

func (n *entry) has(t traits) bool { return n.is&t != 0 }

func (m *Mirror) traitsOf(n registry.Node) traits {
	t := known
	if n.Exists {
		t |= exists
	}
	if n.Stat.Owner != 0 {
		t |= bound
		if n.Stat.Owner == m.owner {
			t |= ours
		}
	}
	if len(n.Children) > 0 {
		t |= parent
	}
	return t
}

// mark is what differs when anything in a node does: the service gives each
// change its revision.
type mark struct{ created, modified, childrenChanged int64 }

func markOf(s registry.Stat) mark { return mark{s.Created, s.Modified, s.ChildrenChanged} }

type phase uint8

const (
	clean phase = iota
	dirty
	reading
	stale // changed while being read: to be read again
	held  // changed, perhaps by our own transaction alone, whose answer is awaited
	gone  // deleted, which shows in a view once what was deleted or set with it does
)

// New is a mirror of the given paths and whatever follow says below them.
func New(paths []string, follow Follow) *Mirror {
	m := &Mirror{follow: follow, roots: paths, nodes: map[string]*entry{}, kids: map[string][]string{}}
	for _, p := range paths {
		m.add(p)
	}
	return m
}

func (m *Mirror) add(path string) {
	if m.nodes[path] != nil {
		return
	}
	if node, ok := m.fresh[path]; ok {
		n := &entry{phase: clean}
		m.nodes[path] = n
		delete(m.fresh, path)
		m.learn(path, n, node)
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
		m.own[e.Path].count(e)
		delete(m.fresh, e.Path)
		if n := m.nodes[e.Path]; n != nil {
			if e.Changes > 0 && m.own[e.Path] == nil && n.is&(known|exists) == known {
				n.is |= flashed
			}
			if e.Gone && m.own[e.Path] == nil && (n.phase == clean || n.phase == gone) {
				m.leave(e.Path, n)
			} else {
				m.soil(e.Path, n)
			}
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
	m.fresh = nil
	for _, p := range m.roots {
		m.soilAll(p)
	}
}

func (m *Mirror) soilAll(path string) {
	n := m.nodes[path]
	if n == nil {
		return
	}
	m.own[path].spoil()
	m.soil(path, n)
	for _, k := range m.kids[path] {
		m.soilAll(k)
	}
}

func (m *Mirror) soil(path string, n *entry) {
	switch n.phase {
	case clean:
		m.open++
		if m.own[path] != nil {
			n.phase = held
			return
		}
		n.phase = dirty
		m.queue = append(m.queue, path)
	case reading:
		n.phase = stale
	case gone:
		n.phase = dirty
		m.queue = append(m.queue, path)
	case dirty, stale, held:
	}
}

// Wants tells whether anything is to be read.
func (m *Mirror) Wants() bool { return !m.down && len(m.queue)+len(m.gone) > 0 }

// Urgent tells whether anything is to be read but what may wait.
func (m *Mirror) Urgent(mayWait func(path string) bool) bool {
	urgent := func(path string) bool { return !mayWait(path) }
	return slices.ContainsFunc(m.queue, urgent) || slices.ContainsFunc(m.gone, urgent)
}

// Wanted lists the reads to issue now; each is answered by Reply or Failed.
func (m *Mirror) Wanted() []Read {
	if m.down || len(m.queue)+len(m.gone) == 0 {
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
	m.queue = nil
	return m.witness(reads)
}

// Reply takes the answer to a read.
func (m *Mirror) Reply(r Read, node registry.Node) {
	m.witnessed(r.token)
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
	m.flash(r.Path, n, node.Exists)
	if !n.has(known) || n.has(exists) != node.Exists || n.last != markOf(node.Stat) {
		m.learn(r.Path, n, node)
	}
}

// flash tells of a node that came and went again between two looks. What it was
// like is not known, only that it was there.
func (m *Mirror) flash(path string, n *entry, exists bool) {
	if n.has(flashed) && !exists {
		m.changes = append(m.changes, Change{path, registry.Node{Exists: true}}, Change{Path: path})
	}
	n.is &^= flashed
}

// learn notes that a node is another.
func (m *Mirror) learn(path string, n *entry, node registry.Node) {
	if n.has(known) || node.Exists {
		m.changes = append(m.changes, Change{path, node})
	}
	n.last, n.is = markOf(node.Stat), m.traitsOf(node)
	m.refollow(path, node)
}

// Failed says that a read got no answer; it is wanted again.
func (m *Mirror) Failed(r Read) {
	n := m.nodes[r.Path]
	if n == nil || n.token != r.token || n.phase != reading && n.phase != stale {
		m.unwitnessed()
		return
	}
	n.phase = dirty
	m.queue = append(m.queue, r.Path)
}

func (m *Mirror) refollow(path string, n registry.Node) {
	old, kids := m.kids[path], m.follow(path, n)
	if len(kids) > 0 {
		m.kids[path] = kids
	} else {
		delete(m.kids, path)
	}
	for _, k := range kids {
		m.add(k)
	}
	if len(old) == 0 {
		return
	}
	kept := make(map[string]bool, len(kids))
	for _, k := range kids {
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
	if n.has(exists) {
		m.changes = append(m.changes, Change{Path: path})
	}
	m.own[path].spoil()
	kids := m.kids[path]
	delete(m.nodes, path)
	delete(m.kids, path)
	for _, k := range kids {
		m.drop(k)
	}
}

// Settled tells whether the copy is one moment of the tree.
func (m *Mirror) Settled() bool { return m.open == 0 && !m.down }

// Changes gives what changed since the last call, in order, the newest of each
// path last. Ask only when Settled.
func (m *Mirror) Changes() []Change {
	c := m.changes
	m.changes, m.fresh = nil, nil
	return c
}
