package tree

import (
	"fmt"
	"strconv"

	"github.com/wasmjob/wasmjob/host/registry"
)

// notAnOp refuses an op of an unknown kind. The port has no such reason, because no correct
// program causes it.
const notAnOp registry.Reason = 0xff

// apply applies one op, and puts its result into r. If it refuses the op, it returns the
// reason and leaves the tree unchanged; 0 means that it is applied. owner is the session,
// nowMS the time of the transaction.
func (t *Tree) apply(op *registry.Op, owner registry.SessionID, nowMS int64, r *registry.Result) registry.Reason {
	r.Path = op.Path
	switch op.Kind {
	case registry.Create:
		return t.create(op, 0, nowMS, r)
	case registry.CreateEphemeral:
		return t.create(op, owner, nowMS, r)
	case registry.CreateSequential:
		return t.createSequential(op, 0, nowMS, r)
	case registry.CreateEphemeralSequential:
		return t.createSequential(op, owner, nowMS, r)
	case registry.Set:
		return t.set(op, nowMS, r)
	case registry.Delete:
		return t.delete(op)
	case registry.Check:
		_, reason := t.expect(op)
		return reason
	case registry.Absent:
		return t.absent(op)
	}
	return notAnOp
}

// create creates a node. owner is 0 for a persistent one.
func (t *Tree) create(op *registry.Op, owner registry.SessionID, nowMS int64, r *registry.Result) registry.Reason {
	if t.nodes[op.Path] != nil {
		return registry.NodeExists
	}
	if !validPath(op.Path) {
		return registry.BadPath
	}
	parentPath, name := split(op.Path)
	parent := t.nodes[parentPath]
	if parent == nil {
		return registry.NoParent
	}
	r.Path = op.Path
	return t.link(parent, op.Path, name, op.Data, owner, nowMS)
}

// createSequential creates a node whose name ends in the number of nodes that its parent
// has ever had.
func (t *Tree) createSequential(op *registry.Op, owner registry.SessionID, nowMS int64, r *registry.Result) registry.Reason {
	// The digits complete the name, so the given path may end in a slash.
	// The longest number is the negative one with which counting goes on after 2^31.
	if !validPath(op.Path + "-2147483648") {
		return registry.BadPath
	}
	parentPath, prefix := split(op.Path)
	parent := t.nodes[parentPath]
	if parent == nil {
		return registry.NoParent
	}
	name := prefix + digits(parent.creates)
	path := join(parentPath, name)
	if t.nodes[path] != nil {
		return registry.NodeExists
	}
	r.Path = path
	return t.link(parent, path, name, op.Data, owner, nowMS)
}

// link creates a node below parent, and records how to undo that. The name must be free.
func (t *Tree) link(parent *node, path, name string, data []byte, owner registry.SessionID, nowMS int64) registry.Reason {
	if parent.owner != 0 {
		return registry.EphemeralParent
	}
	n := &node{
		path:            path,
		parent:          parent,
		data:            data,
		owner:           owner,
		created:         t.revision,
		modified:        t.revision,
		childrenChanged: t.revision,
		modifiedMS:      nowMS,
		saved:           t.revision,
	}
	t.undo = append(t.undo, undo{path: path})
	t.place(n)
	t.changes = append(t.changes, Change{Path: path, Kind: Created})
	t.childrenOf(parent, name)
	parent.creates++
	parent.count++
	return 0
}

// set replaces the value of a node, and raises its version.
func (t *Tree) set(op *registry.Op, nowMS int64, r *registry.Result) registry.Reason {
	n, reason := t.expect(op)
	if reason != 0 {
		return reason
	}
	t.save(n)
	n.data = op.Data
	n.modified = t.revision
	n.modifiedMS = nowMS
	if n.version++; n.version == registry.AnyVersion {
		// A node that is set four billion times must not reach AnyVersion.
		n.version = 0
	}
	t.changes = append(t.changes, Change{Path: n.path, Kind: DataSet})
	r.Version = n.version
	return 0
}

// delete deletes a node without children; the root cannot be deleted.
func (t *Tree) delete(op *registry.Op) registry.Reason {
	if op.Path == "/" {
		return registry.BadPath
	}
	n, reason := t.expect(op)
	if reason != 0 {
		return reason
	}
	if n.count > 0 {
		return registry.NotEmpty
	}
	t.unlink(n)
	return 0
}

// unlink deletes n, which must have no children.
func (t *Tree) unlink(n *node) {
	t.save(n)
	t.remove(n)
	t.changes = append(t.changes, Change{Path: n.path, Kind: Deleted})
	_, name := split(n.path)
	t.childrenOf(n.parent, name)
	n.parent.count--
}

// expect returns the node of op. It returns a reason, other than 0, if there is none or it
// has another version.
func (t *Tree) expect(op *registry.Op) (*node, registry.Reason) {
	n := t.nodes[op.Path]
	switch {
	case n == nil && !validPath(op.Path):
		return nil, registry.BadPath
	case n == nil:
		return nil, registry.NoNode
	case op.Version != registry.AnyVersion && op.Version != n.version:
		return nil, registry.BadVersion
	}
	return n, 0
}

// absent refuses op if its node exists. The path is checked only then, since a node that
// exists has a valid one.
func (t *Tree) absent(op *registry.Op) registry.Reason {
	if t.nodes[op.Path] != nil {
		return registry.NodeExists
	}
	if !validPath(op.Path) {
		return registry.BadPath
	}
	return 0
}

// childrenOf records that the child name of parent was created or deleted. It reports a
// change of the list once for each transaction.
func (t *Tree) childrenOf(parent *node, name string) {
	t.save(parent)
	parent.pending = append(parent.pending, name)
	parent.childrenChanged = t.revision
	if parent.listed != t.revision {
		parent.listed = t.revision
		t.changes = append(t.changes, Change{Path: parent.path, Kind: ChildrenChanged})
	}
}

// save copies n into the undo log, unless this transaction has done so already. Callers
// save a node before they change it.
func (t *Tree) save(n *node) {
	if n.saved == t.revision {
		return
	}
	t.undo = append(t.undo, undo{path: n.path, n: n, old: *n})
	n.saved = t.revision
}

// digits formats a sequence number with ten digits. After 2^31 creates the number is negative
// and has eleven characters, as in ZooKeeper.
func digits(n int32) string {
	if n < 0 {
		return fmt.Sprintf("%010d", n)
	}
	var b [10]byte
	s := strconv.AppendInt(b[:0], int64(n), 10)
	return "0000000000"[:10-len(s)] + string(s)
}
