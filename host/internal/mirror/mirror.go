// Package mirror keeps a coherent copy of a job's nodes from events and reads of
// single nodes. It is pure: it receives events and replies, and returns which paths
// to read and what has changed. Package runner, or the simulator, carries out the
// reads. The mirror does not know what the nodes mean.
//
// A settled mirror shows one moment of the tree. The service delivers the event of
// a change before any reply that could show the change, and the caller keeps that
// order. So if every path was read and no event has come for it since, no node had
// changed when the last reply was given. Before the mirror is settled, nothing may
// be decided on it.
//
// A node that our own transaction has changed need not be read: the answer to the
// transaction says what it is. The number of events of the node shows whether it
// was also changed by others.
//
// Flow: New → Wanted → (read each) → Reply → Settled → Changes; later Event →
// Wanted → …; with each transaction Submitted → Event → Answered.
package mirror

import (
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Follow returns the nodes below the given node that are mirrored, too. It may name nodes
// that do not exist yet, so that their creation is noticed. For most nodes it returns
// none. All names are paths below the mirror's root.
type Follow func(name string, n registry.Node) []string

// Read is a read that the mirror needs.
type Read struct {
	Path  string
	name  string
	token uint32
}

// Change is a node whose copy has changed.
type Change struct {
	Path string
	Node registry.Node
}

// Mirror is the copy of the nodes. Create it with New. A server has thousands of
// idle mirrors, so a mirror is small: it knows nodes by their names below the root,
// which can be shared, and builds a path only to pass it on.
type Mirror struct {
	root      string
	follow    Follow
	names     []string          // the nodes that are always mirrored; shared between mirrors
	always    []entry           // the entries of names, in that order
	followed  map[string]*entry // the nodes that follow returned, by name
	lists     []list
	queue     []string // dirty nodes, in the order in which they became dirty
	unsettled int      // nodes that are dirty or being read
	requests  uint32   // requests so far: reads and transactions
	gone      []string // nodes of the phase gone, and possibly others
	changes   []Change
	own       map[string]*write // the nodes that our transaction in flight touches; nil: there is none
	ops       []registry.Op
	// fresh holds nodes that our last transaction created below an unread list.
	fresh map[string]registry.Node
	// submitted is the number of that transaction among the requests.
	submitted    uint32
	owner        registry.SessionID // our session, once it has written anything
	disconnected bool               // the connection is lost: nothing is read, and the mirror does not settle
}

// list holds what follow returned for a node.
type list struct {
	name  string
	below []string
}

// entry is what the mirror remembers of a node: enough to see whether the next read
// differs, and to compute the result of our own transaction. A server has some hundred
// thousand entries, so they hold nothing else.
type entry struct {
	mark   mark
	token  uint32
	phase  phase
	traits traits
}

// traits are facts about a node.
type traits uint8

const (
	known     traits = 1 << iota // the node was read at least once
	exists                       // the node exists
	ephemeral                    // the node is ephemeral
	ours                         // the node is ephemeral and belongs to this mirror's session
	parent                       // the node has children
	flashed                      // the node does not exist, but did since it was last read
	passing                      // the node is read once, and then removed from the mirror
)

func (n *entry) has(t traits) bool { return n.traits&t != 0 }

// traitsOf returns the traits of a node that was read.
func (m *Mirror) traitsOf(n registry.Node) traits {
	t := known
	if n.Exists {
		t |= exists
	}
	if n.Stat.Owner != 0 {
		t |= ephemeral
		if n.Stat.Owner == m.owner {
			t |= ours
		}
	}
	if len(n.Children) > 0 {
		t |= parent
	}
	return t
}

// mark changes with every change of a node, because each change has its own
// revision.
type mark struct{ created, modified, childrenChanged int64 }

func markOf(s registry.Stat) mark { return mark{s.Created, s.Modified, s.ChildrenChanged} }

type phase uint8

const (
	clean phase = iota
	dirty
	reading
	stale // changed while it was read: the node is to be read again
	held  // changed while our own transaction is in flight, possibly only by that
	gone  // deleted; waits until the events of all other nodes of the same transaction have come
)

// New returns a mirror of the named nodes below root and of all nodes that follow
// returns for them. The name of root itself is empty. names is shared, and never
// changed.
func New(root string, names []string, follow Follow) *Mirror {
	m := &Mirror{root: root, follow: follow, names: names, always: make([]entry, len(names)), followed: map[string]*entry{}, unsettled: len(names)}
	for i := range m.always {
		m.always[i].phase = dirty
	}
	m.queue = slices.Clone(names)
	return m
}

// path returns the path of a node.
func (m *Mirror) path(name string) string {
	if name == "" {
		return m.root
	}
	return m.root + "/" + name
}

// nameOf returns the name of the node at a path, if it is at or below the root.
func (m *Mirror) nameOf(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, m.root)
	if !ok || rest == "" {
		return "", ok
	}
	return rest[1:], rest[0] == '/'
}

// entry returns the entry of a node, or nil if the node is not mirrored.
func (m *Mirror) entry(name string) *entry {
	if k := slices.Index(m.names, name); k >= 0 {
		return &m.always[k]
	}
	return m.followed[name]
}

// add begins to mirror a node: it is read, unless our own transaction has just created it.
func (m *Mirror) add(name string) {
	if m.entry(name) != nil {
		return
	}
	n := &entry{}
	m.followed[name] = n
	if node, ok := m.fresh[name]; ok {
		delete(m.fresh, name)
		m.learn(m.path(name), name, n, node)
		return
	}
	n.phase = dirty
	m.unsettled++
	m.queue = append(m.queue, name)
}

// Event takes in an event of the session: what it outdates is read again.
func (m *Mirror) Event(e registry.Event) {
	switch e.Kind {
	case registry.Changed:
		m.changed(e)
	case registry.Suspended, registry.Ended:
		m.disconnected = true
	case registry.Resumed:
		m.disconnected = false
		m.Reread()
	}
}

// changed makes the node of an event be read again, except a deleted one: see markGone. An
// event with Changes 0 is about the list of its children only.
func (m *Mirror) changed(e registry.Event) {
	name, ok := m.nameOf(e.Path)
	if !ok {
		return
	}
	own, n := m.own[name], m.entry(name)
	own.count(e)
	delete(m.fresh, name)
	if n == nil {
		return
	}
	if e.Changes > 0 && own == nil && n.traits&(known|exists) == known { // it did not exist when it was last read
		n.traits |= flashed
	}
	if e.Gone && own == nil && (n.phase == clean || n.phase == gone) {
		m.markGone(name, n)
	} else {
		m.makeDirty(name, n)
	}
}

// Reread makes every node dirty, so all are read again.
func (m *Mirror) Reread() {
	m.fresh = nil
	for i, name := range m.names {
		m.makeDirtyAgain(name, &m.always[i])
	}
	for _, l := range m.lists {
		for _, name := range l.below {
			m.makeDirtyAgain(name, m.entry(name))
		}
	}
}

// makeDirtyAgain is makeDirty, and makes Answered read the node, too.
func (m *Mirror) makeDirtyAgain(name string, n *entry) {
	m.own[name].mustRead()
	m.makeDirty(name, n)
}

// makeDirty makes the node be read: now, after the read under way, or after our transaction.
func (m *Mirror) makeDirty(name string, n *entry) {
	switch n.phase {
	case clean:
		m.unsettled++
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

// Wants reports whether any node must be read.
func (m *Mirror) Wants() bool { return !m.disconnected && len(m.queue)+len(m.gone) > 0 }

// Urgent reports whether a node must be read for which mayWait is false.
func (m *Mirror) Urgent(mayWait func(name string) bool) bool {
	urgent := func(name string) bool { return !mayWait(name) }
	return slices.ContainsFunc(m.queue, urgent) || slices.ContainsFunc(m.gone, urgent)
}

// Wanted returns the reads to issue now; answer each with Reply or Failed.
func (m *Mirror) Wanted() []Read {
	if m.disconnected || len(m.queue)+len(m.gone) == 0 {
		return nil
	}
	reads := make([]Read, 0, len(m.queue))
	for _, name := range m.queue {
		n := m.entry(name)
		if n == nil || n.phase != dirty {
			continue
		}
		m.requests++
		n.phase, n.token = reading, m.requests
		reads = append(reads, Read{m.path(name), name, n.token})
	}
	m.queue = nil
	return m.confirmGone(reads)
}

// Reply receives the answer to a read.
func (m *Mirror) Reply(r Read, node registry.Node) {
	m.confirmedGone(r.token) // all events that came before the read was sent are here
	n := m.entry(r.name)
	if n == nil || n.token != r.token {
		return // the node was removed from the mirror meanwhile
	}
	if n.phase == stale {
		// The answer may be older than the event, so the node is read again.
		n.phase = dirty
		m.queue = append(m.queue, r.name)
		return
	}
	n.phase = clean
	m.unsettled--
	m.reportFlash(r.name, n, node.Exists)
	if !n.has(known) || n.has(exists) != node.Exists || n.mark != markOf(node.Stat) {
		m.learn(r.Path, r.name, n, node)
	}
}

// reportFlash reports a node that was created and deleted between two reads, as two
// changes. Only its existence is known, not its value.
func (m *Mirror) reportFlash(name string, n *entry, exists bool) {
	if n.has(flashed) && !exists {
		m.changes = append(m.changes, Change{m.path(name), registry.Node{Exists: true}}, Change{Path: m.path(name)})
	}
	n.traits &^= flashed
}

// learn records a changed node, and mirrors the nodes below it that follow now names.
func (m *Mirror) learn(path, name string, n *entry, node registry.Node) {
	if n.has(known) || node.Exists {
		if m.changes == nil { // as a rule, other unsettled nodes have changed, too
			m.changes = make([]Change, 0, min(m.unsettled, 16)+1)
		}
		m.changes = append(m.changes, Change{path, node})
	}
	if n.has(passing) {
		delete(m.followed, name)
		return
	}
	n.mark, n.traits = markOf(node.Stat), m.traitsOf(node)
	m.refollow(name, node)
}

// Failed records that a read got no answer. It must be repeated.
func (m *Mirror) Failed(r Read) {
	n := m.entry(r.name)
	if n == nil || n.token != r.token || n.phase != reading && n.phase != stale { // no further read of it confirms deletions
		m.unconfirmedGone()
		return
	}
	n.phase = dirty
	m.queue = append(m.queue, r.name)
}

// refollow adds and removes entries so that the nodes below n are those that follow returns.
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
			m.remove(k)
		}
	}
}

// relist replaces the list of a node, and returns the old one.
func (m *Mirror) relist(name string, below []string) (old []string) {
	k := slices.IndexFunc(m.lists, func(l list) bool { return l.name == name })
	if k >= 0 {
		old = m.lists[k].below
		m.lists = slices.Delete(m.lists, k, k+1)
	}
	if len(below) > 0 {
		m.lists = slices.Concat(m.lists, []list{{name, below}}) // without spare capacity
	}
	return old
}

// Settled reports whether the copy is one moment of the tree.
func (m *Mirror) Settled() bool { return m.unsettled == 0 && !m.disconnected }

// Changes returns the changes since the last call in order, so the newest change of a
// path comes last. Call it only when the mirror is settled.
func (m *Mirror) Changes() []Change {
	c := m.changes
	m.changes, m.fresh = nil, nil
	return c
}
