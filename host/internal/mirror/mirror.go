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
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Follow tells which nodes below one are mirrored, given that one. It may name
// such as do not exist: their creation is heard of. Few nodes have any. All are
// named by their paths below the mirror's root.
type Follow func(name string, n registry.Node) []string

// Read is a wanted read.
type Read struct {
	Path  string
	name  string
	token uint32
}

// Change is a node whose copy changed.
type Change struct {
	Path string
	Node registry.Node
}

// Mirror is the copy. Make it with New. It is made for a server with thousands
// of them at rest: nodes are known by their names below the root, since those
// can be shared, and paths are only made to be told.
type Mirror struct {
	root    string
	follow  Follow
	names   []string          // of the nodes that are always mirrored; others share it
	always  []entry           // those nodes, in that order
	more    map[string]*entry // those that follow names, by name
	lists   []list
	queue   []string // dirty nodes in the order in which they became so
	open    int      // nodes that are dirty or being read
	tokens  uint32   // questions so far: reads and transactions
	gone    []string // those of that phase, and perhaps others
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

// list is what follow names below a node.
type list struct {
	name  string
	below []string
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
	passing                    // it is read once, and then forgotten
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

// New is a mirror of the named nodes below root, and whatever follow says below
// them. The name of root itself is empty. names is shared, and not changed.
func New(root string, names []string, follow Follow) *Mirror {
	m := &Mirror{root: root, follow: follow, names: names, always: make([]entry, len(names)), more: map[string]*entry{}, open: len(names)}
	for i := range m.always {
		m.always[i].phase = dirty
	}
	m.queue = slices.Clone(names)
	return m
}

// path is the path of a node.
func (m *Mirror) path(name string) string {
	if name == "" {
		return m.root
	}
	return m.root + "/" + name
}

// named is the name of the node at a path, if that is not elsewhere.
func (m *Mirror) named(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, m.root)
	if !ok || rest == "" {
		return "", ok
	}
	return rest[1:], rest[0] == '/'
}

// entry is nil if nobody asks for the node.
func (m *Mirror) entry(name string) *entry {
	if k := slices.Index(m.names, name); k >= 0 {
		return &m.always[k]
	}
	return m.more[name]
}

func (m *Mirror) add(name string) {
	if m.entry(name) != nil {
		return
	}
	n := &entry{}
	m.more[name] = n
	if node, ok := m.fresh[name]; ok {
		delete(m.fresh, name)
		m.learn(name, n, node)
		return
	}
	n.phase = dirty
	m.open++
	m.queue = append(m.queue, name)
}

// Event takes an event of the session.
func (m *Mirror) Event(e registry.Event) {
	switch e.Kind {
	case registry.Changed:
		m.changed(e)
	case registry.Suspended, registry.Ended:
		m.down = true
	case registry.Resumed:
		m.down = false
		m.Reread()
	}
}

func (m *Mirror) changed(e registry.Event) {
	name, ok := m.named(e.Path)
	if !ok {
		return
	}
	own, n := m.own[name], m.entry(name)
	own.count(e)
	delete(m.fresh, name)
	if n == nil {
		return
	}
	if e.Changes > 0 && own == nil && n.is&(known|exists) == known {
		n.is |= flashed
	}
	if e.Gone && own == nil && (n.phase == clean || n.phase == gone) {
		m.leave(name, n)
	} else {
		m.soil(name, n)
	}
}

// Reread makes every node dirty.
func (m *Mirror) Reread() {
	m.fresh = nil
	for i, name := range m.names {
		m.soilAgain(name, &m.always[i])
	}
	for _, l := range m.lists {
		for _, name := range l.below {
			m.soilAgain(name, m.entry(name))
		}
	}
}

func (m *Mirror) soilAgain(name string, n *entry) {
	m.own[name].spoil()
	m.soil(name, n)
}

func (m *Mirror) soil(name string, n *entry) {
	switch n.phase {
	case clean:
		m.open++
		if m.own[name] != nil {
			n.phase = held
			return
		}
		n.phase = dirty
		m.queue = append(m.queue, name)
	case reading:
		n.phase = stale
	case gone:
		n.phase = dirty
		m.queue = append(m.queue, name)
	case dirty, stale, held:
	}
}

// Wants tells whether anything is to be read.
func (m *Mirror) Wants() bool { return !m.down && len(m.queue)+len(m.gone) > 0 }

// Urgent tells whether anything is to be read but what may wait.
func (m *Mirror) Urgent(mayWait func(name string) bool) bool {
	urgent := func(name string) bool { return !mayWait(name) }
	return slices.ContainsFunc(m.queue, urgent) || slices.ContainsFunc(m.gone, urgent)
}

// Wanted lists the reads to issue now; each is answered by Reply or Failed.
func (m *Mirror) Wanted() []Read {
	if m.down || len(m.queue)+len(m.gone) == 0 {
		return nil
	}
	reads := make([]Read, 0, len(m.queue))
	for _, name := range m.queue {
		n := m.entry(name)
		if n == nil || n.phase != dirty {
			continue
		}
		m.tokens++
		n.phase, n.token = reading, m.tokens
		reads = append(reads, Read{m.path(name), name, n.token})
	}
	m.queue = nil
	return m.witness(reads)
}

// Reply takes the answer to a read.
func (m *Mirror) Reply(r Read, node registry.Node) {
	m.witnessed(r.token)
	n := m.entry(r.name)
	if n == nil || n.token != r.token {
		return // dropped meanwhile
	}
	if n.phase == stale {
		// The answer may be older than the event; the node is read once more.
		n.phase = dirty
		m.queue = append(m.queue, r.name)
		return
	}
	n.phase = clean
	m.open--
	m.flash(r.name, n, node.Exists)
	if !n.has(known) || n.has(exists) != node.Exists || n.last != markOf(node.Stat) {
		m.learn(r.name, n, node)
	}
}

// flash tells of a node that came and went again between two looks. What it was
// like is not known, only that it was there.
func (m *Mirror) flash(name string, n *entry, exists bool) {
	if n.has(flashed) && !exists {
		m.changes = append(m.changes, Change{m.path(name), registry.Node{Exists: true}}, Change{Path: m.path(name)})
	}
	n.is &^= flashed
}

// learn notes that a node is another.
func (m *Mirror) learn(name string, n *entry, node registry.Node) {
	if n.has(known) || node.Exists {
		m.changes = append(m.changes, Change{m.path(name), node})
	}
	if n.has(passing) {
		delete(m.more, name)
		return
	}
	n.last, n.is = markOf(node.Stat), m.traitsOf(node)
	m.refollow(name, node)
}

// Failed says that a read got no answer; it is wanted again.
func (m *Mirror) Failed(r Read) {
	n := m.entry(r.name)
	if n == nil || n.token != r.token || n.phase != reading && n.phase != stale {
		m.unwitnessed()
		return
	}
	n.phase = dirty
	m.queue = append(m.queue, r.name)
}

func (m *Mirror) refollow(name string, n registry.Node) {
	below := m.follow(name, n)
	old := m.relist(name, below)
	for _, k := range below {
		m.add(k)
	}
	if len(old) == 0 {
		return
	}
	kept := make(map[string]bool, len(below))
	for _, k := range below {
		kept[k] = true
	}
	for _, k := range old {
		if !kept[k] {
			m.drop(k)
		}
	}
}

// relist puts a list in place of the one that there was, and returns that.
func (m *Mirror) relist(name string, below []string) (old []string) {
	k := slices.IndexFunc(m.lists, func(l list) bool { return l.name == name })
	if k >= 0 {
		old = m.lists[k].below
		m.lists = slices.Delete(m.lists, k, k+1)
	}
	if len(below) > 0 {
		m.lists = slices.Concat(m.lists, []list{{name, below}}) // no room to spare
	}
	return old
}

func (m *Mirror) drop(name string) {
	n := m.more[name]
	if n == nil {
		return
	}
	if n.phase != clean {
		m.open--
	}
	if n.has(exists) {
		m.changes = append(m.changes, Change{Path: m.path(name)})
	}
	m.own[name].spoil()
	delete(m.more, name)
	for _, k := range m.relist(name, nil) {
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
