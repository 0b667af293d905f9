package mirror

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// write is what our transaction in flight does to a node.
type write struct {
	op          int  // index of the operation in the transaction
	predictable bool // the answer to the transaction will say everything about the node
	events      int  // number of events of the node since the transaction was submitted
}

// count counts an event of the node. Our operation on the node causes no event of its list
// of children, so after such an event the node is read.
func (w *write) count(e registry.Event) {
	if w == nil {
		return
	}
	if w.events += e.Changes; e.Changes == 0 {
		w.predictable = false
	}
}

// mustRead makes Answered read the node again.
func (w *write) mustRead() {
	if w != nil {
		w.predictable = false
	}
}

// Submitted must be called when a transaction of ours is sent. There is one at a time.
// Nodes that it changes are not read before Answered.
func (m *Mirror) Submitted(ops []registry.Op) {
	m.ops, m.own = ops, map[string]*write{}
	m.requests++
	m.submitted = m.requests
	for i := range ops {
		if ops[i].Kind == registry.Check || ops[i].Kind == registry.Absent {
			continue
		}
		name, ok := m.nameOf(ops[i].Path)
		n := m.entry(name)
		if !ok || n == nil && m.entry(parentOf(name)) == nil {
			continue // neither the node nor its parent is mirrored
		}
		if w := m.own[name]; w != nil {
			w.predictable = false // two operations on one node
			continue
		}
		m.own[name] = &write{op: i, predictable: n.predictable(&ops[i])}
	}
	for i := range ops { // other operations change the list of children of the node above
		switch ops[i].Kind {
		case registry.Set, registry.Check:
		default:
			if parent, ok := m.nameOf(parentOf(ops[i].Path)); ok {
				m.own[parent].mustRead()
			}
		}
	}
}

// parentOf returns the path or name above another; "" if there is none.
func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// predictable reports whether the node is known completely once op is known to be applied.
// A node with children is not, since the mirror does not keep their names; nor is a node of
// another session, since the mirror does not keep its id.
func (n *entry) predictable(op *registry.Op) bool {
	if n == nil { // not mirrored, or not yet
		return op.Kind == registry.Create || op.Kind == registry.CreateEphemeral
	}
	if n.phase != clean || !n.has(known) {
		return false
	}
	switch op.Kind { //nolint:exhaustive // the other kinds write nothing, or a name that is not known yet
	case registry.Create, registry.CreateEphemeral:
		return !n.has(exists)
	case registry.Set:
		return n.has(exists) && n.has(ephemeral) == n.has(ours) && !n.has(parent)
	case registry.Delete:
		return n.has(exists)
	}
	return false
}

// Answered receives the outcome of the transaction. receipt is nil unless the transaction
// is known to be applied; owner is our session. All events of the transaction have been
// received before. A node with exactly one event is known without a read: the event is
// that of our operation. Any other node is read again.
func (m *Mirror) Answered(receipt *registry.Receipt, owner registry.SessionID) {
	own, ops := m.own, m.ops
	m.own, m.ops = nil, nil
	if receipt != nil {
		m.owner = owner
		m.confirmedGone(m.submitted)
	} else {
		m.unconfirmedGone()
	}
	for i := range ops {
		name, ok := m.nameOf(ops[i].Path)
		w, n := own[name], m.entry(name)
		if !ok || w == nil || w.op != i {
			continue
		}
		answered := receipt != nil && receipt.Revision != 0 && w.predictable && w.events == 1
		if n == nil && answered { // created; add takes it from fresh if the list above names it
			if m.fresh == nil {
				m.fresh = map[string]registry.Node{}
			}
			m.fresh[name] = n.after(&ops[i], receipt, i, owner)
		}
		if n == nil || n.phase != held {
			continue
		}
		if !answered {
			n.phase = dirty
			m.queue = append(m.queue, name)
			continue
		}
		n.phase = clean
		m.unsettled--
		m.learn(ops[i].Path, name, n, n.after(&ops[i], receipt, i, owner))
	}
}

// after returns the node after op, which is number i of the transaction, was applied to it. n
// is nil if the node is not mirrored yet; then op has created it.
func (n *entry) after(op *registry.Op, r *registry.Receipt, i int, owner registry.SessionID) registry.Node {
	switch op.Kind {
	case registry.Delete:
		return registry.Node{}
	case registry.Set:
		stat := registry.Stat{
			Created: n.mark.created, Modified: r.Revision, ChildrenChanged: n.mark.childrenChanged, Version: r.Results[i].Version,
		}
		if n.has(ours) {
			stat.Owner = owner
		}
		return registry.Node{Exists: true, Data: op.Data, Stat: stat}
	default:
		stat := registry.Stat{Created: r.Revision, Modified: r.Revision, ChildrenChanged: r.Revision}
		if op.Kind == registry.CreateEphemeral {
			stat.Owner = owner
		}
		return registry.Node{Exists: true, Data: op.Data, Stat: stat}
	}
}
