// Package tree is an in-memory tree of versioned nodes with ZooKeeper's rules for transactions,
// ephemeral and sequential nodes, versions and revisions.
//
// It is the state machine under the embedded registry and the simulator: single-threaded,
// without a clock, a lock or a goroutine, and its results never depend on the order of a map.
// It is not a registry: of sessions it knows only the ids, and it neither notifies followers
// nor writes to a disk.
//
// Flow: Commit applies the ops of one transaction, where later ops see the effects of earlier
// ones, and returns the changes, with which the caller notifies followers. A refused op undoes
// all ops before it. Get and Walk return snapshots, which later transactions do not change.
package tree

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Tree is the tree. Create one with New or Decode. It is not safe for concurrent use.
type Tree struct {
	nodes map[string]*node
	// ephemerals finds the nodes of a session without a walk. Lists of it are always sorted.
	ephemerals map[registry.SessionID]map[string]struct{}
	revision   int64
	undo       []undo // undoes the current or last transaction
	changes    []Change
}

// node is one node. data and kids are replaced, never modified, so that snapshots which share
// them do not change.
type node struct {
	path            string
	parent          *node // nil for the root
	data            []byte
	owner           registry.SessionID
	created         int64
	modified        int64
	childrenChanged int64
	modifiedMS      int64
	version         int32
	// creates counts the children ever created. ZooKeeper numbers sequential nodes by it, and
	// derives the visible child version from it.
	creates int32
	count   int32    // present number of children
	kids    []string // names, sorted, without the changes in pending
	// pending holds the names that came or went since kids was built, so that a thousand
	// creates under one parent cost one merge instead of a thousand insertions. Its elements
	// are never overwritten, since a copy in the undo log shares them.
	pending []string
	saved   int64 // revision whose undo log has a copy of this node
	listed  int64 // revision that has already reported ChildrenChanged
}

// undo undoes one step: it restores n to old, or removes path if n is nil.
type undo struct {
	path string
	n    *node
	old  node
}

// ChangeKind says what happened to a node.
type ChangeKind uint8

const (
	// Created: the node was created.
	Created ChangeKind = iota + 1
	// Deleted: the node was deleted.
	Deleted
	// DataSet: its value was set, even if to the same bytes.
	DataSet
	// ChildrenChanged: children were created or deleted; reported once per transaction.
	ChildrenChanged
)

// Change is one effect of a transaction, in the order of the ops.
type Change struct {
	Path string
	Kind ChangeKind
	// Node is the node after the whole transaction. It does not exist if the node was also
	// deleted in it.
	Node registry.Node
}

// New returns a tree that has only the root, at revision 0.
func New() *Tree {
	t := &Tree{
		nodes:      make(map[string]*node),
		ephemerals: make(map[registry.SessionID]map[string]struct{}),
	}
	t.place(&node{path: "/"})
	return t
}

// Revision returns the revision of the last transaction.
func (t *Tree) Revision() int64 { return t.revision }

// Advance raises the revision to at least r, so that the next transaction takes r+1 or more. It
// never lowers it.
func (t *Tree) Advance(r int64) { t.revision = max(t.revision, r) }

// Commit applies ops as one transaction of the session owner at nowMS (milliseconds of the Unix
// epoch). It takes the next revision, even if ops only check. The error is a
// *registry.ConflictError naming the first refused op; then nothing has changed and no revision
// is used. The tree keeps the Data of the ops: the caller must not modify it afterwards.
func (t *Tree) Commit(owner registry.SessionID, nowMS int64, ops []registry.Op) (registry.Receipt, []Change, error) {
	receipt, changes, err := t.Apply(owner, nowMS, ops)
	return receipt, t.complete(changes), err
}

// Apply is Commit for callers that only need to know what changed: the Node of its changes is
// empty. That saves the lists of children, which for a parent of ten thousand cost more than
// everything else.
func (t *Tree) Apply(owner registry.SessionID, nowMS int64, ops []registry.Op) (registry.Receipt, []Change, error) {
	t.begin(changesOf(ops))
	results := make([]registry.Result, len(ops))
	for i := range ops {
		if reason := t.apply(&ops[i], owner, nowMS, &results[i]); reason != 0 {
			t.Undo()
			return registry.Receipt{}, nil, &registry.ConflictError{Index: i, Op: ops[i], Reason: reason}
		}
	}
	return registry.Receipt{Revision: t.revision, Results: results}, t.finish(), nil
}

// EndSession deletes the ephemeral nodes of owner in one transaction, in the order of their
// paths. It takes a revision even if there are none. Deletions leave no time in the tree,
// so it ignores that of the transaction.
func (t *Tree) EndSession(owner registry.SessionID, _ int64) []Change {
	paths := t.Ephemerals(owner)
	t.begin(2 * len(paths))
	for _, path := range paths {
		t.unlink(t.nodes[path])
	}
	return t.complete(t.finish())
}

// Ephemerals returns the paths of the ephemeral nodes of owner, sorted.
func (t *Tree) Ephemerals(owner registry.SessionID) []string {
	return slices.Sorted(maps.Keys(t.ephemerals[owner]))
}

// Owners returns the sessions that have ephemeral nodes, sorted.
func (t *Tree) Owners() []registry.SessionID {
	return slices.Sorted(maps.Keys(t.ephemerals))
}

// Get returns a snapshot of the node at path; Exists is false if there is no such node. The
// snapshot shares memory with the tree: neither the caller nor the tree modifies it.
func (t *Tree) Get(path string) registry.Node {
	return t.snapshot(t.nodes[path])
}

// Walk calls f for the node at path and all nodes below it, depth first, children in order,
// until f returns false. f must not change the tree.
func (t *Tree) Walk(path string, f func(path string, n registry.Node) bool) {
	if n := t.nodes[path]; n != nil {
		t.walk(n, f)
	}
}

// walk is Walk from a node on. It returns false if f has.
func (t *Tree) walk(n *node, f func(path string, n registry.Node) bool) bool {
	if !f(n.path, t.snapshot(n)) {
		return false
	}
	for _, name := range t.children(n) {
		if !t.walk(t.nodes[join(n.path, name)], f) {
			return false
		}
	}
	return true
}

// Undo reverts the last Commit or EndSession, revision included, as if it had not happened.
// Only the last one can be reverted, once, and not after Advance.
func (t *Tree) Undo() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		u := &t.undo[i]
		if u.n != nil {
			*u.n = u.old
			t.place(u.n)
		} else if made := t.nodes[u.path]; made != nil {
			t.remove(made)
		}
	}
	t.undo = t.undo[:0]
	t.changes = nil
	t.revision--
}

// begin begins a transaction that makes about the given number of changes.
func (t *Tree) begin(changes int) {
	t.revision++
	clear(t.undo) // releases nodes deleted by the last transaction
	t.undo = t.undo[:0]
	t.changes = make([]Change, 0, changes)
}

// changesOf returns how many changes ops make at most, to allocate their list at once.
func changesOf(ops []registry.Op) int {
	n := 0
	for i := range ops {
		switch ops[i].Kind {
		case registry.Check, registry.Absent:
		case registry.Set:
			n++
		default: // the node, and its parent's list of children
			n += 2
		}
	}
	return n
}

// finish ends a transaction and returns its changes. It also merges the pending names of
// parents whose lists are not read for long, before there are many more of them than
// children.
func (t *Tree) finish() []Change {
	changes := t.changes
	t.changes = nil
	for i := range changes {
		if changes[i].Kind != ChildrenChanged {
			continue
		}
		if n := t.nodes[changes[i].Path]; n != nil && len(n.pending) > 64+len(n.kids) {
			t.children(n)
		}
	}
	return changes
}

// complete sets the Node of each change to the node's present state.
func (t *Tree) complete(changes []Change) []Change {
	for i := range changes {
		changes[i].Node = t.Get(changes[i].Path)
	}
	return changes
}

// children returns the names of n's children, sorted, and keeps them. It builds a new slice
// each time, since a snapshot may share the old one.
func (t *Tree) children(n *node) []string {
	if len(n.pending) == 0 {
		return n.kids
	}
	touched := n.pending
	n.pending = nil
	if len(touched) > 1 {
		touched = slices.Clone(touched)
		slices.Sort(touched)
		touched = slices.Compact(touched)
	}
	if n.count == 0 {
		n.kids = nil
		return nil
	}
	kids := make([]string, 0, n.count)
	path := append(make([]byte, 0, 128), n.path...)
	if n.path != "/" {
		path = append(path, '/')
	}
	prefix, rest := len(path), n.kids
	for _, name := range touched {
		// The name stays, comes or goes: only nodes shows which.
		i, _ := slices.BinarySearch(rest, name)
		kids = append(kids, rest[:i]...)
		rest = rest[i:]
		if len(rest) > 0 && rest[0] == name {
			rest = rest[1:]
		}
		path = append(path[:prefix], name...)
		if _, exists := t.nodes[string(path)]; exists {
			kids = append(kids, name)
		}
	}
	n.kids = append(kids, rest...)
	return n.kids
}

// snapshot returns the state of a node, which later transactions do not change; for nil, a
// node that does not exist.
func (t *Tree) snapshot(n *node) registry.Node {
	if n == nil {
		return registry.Node{}
	}
	return registry.Node{
		Exists:   true,
		Data:     n.data,
		Children: slices.Clip(t.children(n)),
		Stat: registry.Stat{
			Created:         n.created,
			Modified:        n.modified,
			ChildrenChanged: n.childrenChanged,
			Version:         n.version,
			ChildVersion:    2*n.creates - n.count, // creates plus deletes
			Owner:           n.owner,
			ModifiedAt:      time.UnixMilli(n.modifiedMS).UTC(),
		},
	}
}

// place adds n to the maps of the tree, unless it is there already, as after Undo.
func (t *Tree) place(n *node) {
	t.nodes[n.path] = n
	if n.owner == 0 {
		return
	}
	set := t.ephemerals[n.owner]
	if set == nil {
		set = make(map[string]struct{})
		t.ephemerals[n.owner] = set
	}
	set[n.path] = struct{}{}
}

// remove removes n from the maps of the tree.
func (t *Tree) remove(n *node) {
	delete(t.nodes, n.path)
	if n.owner == 0 {
		return
	}
	set := t.ephemerals[n.owner]
	delete(set, n.path)
	if len(set) == 0 {
		delete(t.ephemerals, n.owner)
	}
}

// join returns the path of the child of parent with that name.
func join(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}

// split returns the parent's path and the name. path must be valid and not "/".
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i == 0 {
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}
