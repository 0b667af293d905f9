package mirror

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// write is what is to become of a node by our transaction under way.
type write struct {
	op     int  // of the transaction
	plain  bool // its answer will tell all of the node
	events int  // that came since it was submitted
}

// count takes an event of the node. One for its list of children is none of
// ours.
func (w *write) count(e registry.Event) {
	if w == nil {
		return
	}
	if w.events += e.Changes; e.Changes == 0 {
		w.plain = false
	}
}

// spoil: the node is to be read, whatever the transaction does.
func (w *write) spoil() {
	if w != nil {
		w.plain = false
	}
}

// Submitted says that a transaction of ours is on its way. There is one at a
// time. What it touches is not read before Answered.
func (m *Mirror) Submitted(ops []registry.Op) {
	m.ops, m.own = ops, map[string]*write{}
	m.tokens++
	m.submitted = m.tokens
	for i := range ops {
		if ops[i].Kind == registry.Check || ops[i].Kind == registry.Absent {
			continue
		}
		name, ok := m.named(ops[i].Path)
		n := m.entry(name)
		if !ok || n == nil && m.entry(parentOf(name)) == nil {
			continue // nobody asks
		}
		if w := m.own[name]; w != nil {
			w.plain = false // it is touched twice
			continue
		}
		m.own[name] = &write{op: i, plain: n.foreseen(&ops[i])}
	}
	for i := range ops {
		switch ops[i].Kind {
		case registry.Set, registry.Check:
		default:
			if parent, ok := m.named(parentOf(ops[i].Path)); ok {
				m.own[parent].spoil()
			}
		}
	}
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// foreseen: when it is known what op was applied to the node, it is known what
// the node is then. Of one with children the list is not kept here, nor whose it
// is that is bound to another session than ours.
func (n *entry) foreseen(op *registry.Op) bool {
	if n == nil { // it is not followed, or not yet
		return op.Kind == registry.Create || op.Kind == registry.CreateEphemeral
	}
	if n.phase != clean || !n.has(known) {
		return false
	}
	switch op.Kind { //nolint:exhaustive // the others make nothing of the node, or it is not known what
	case registry.Create, registry.CreateEphemeral:
		return !n.has(exists)
	case registry.Set:
		return n.has(exists) && n.has(bound) == n.has(ours) && !n.has(parent)
	case registry.Delete:
		return n.has(exists)
	}
	return false
}

// Answered ends what Submitted began. receipt is nil unless the transaction is
// known to be applied; owner is our session. All events of the transaction have
// been told before. A node that had as many as the transaction explains is known
// without being read; any other is wanted, as after any event.
func (m *Mirror) Answered(receipt *registry.Receipt, owner registry.SessionID) {
	own, ops := m.own, m.ops
	m.own, m.ops = nil, nil
	if receipt != nil {
		m.owner = owner
		m.witnessed(m.submitted)
	} else {
		m.unwitnessed()
	}
	for i := range ops {
		name, ok := m.named(ops[i].Path)
		w, n := own[name], m.entry(name)
		if !ok || w == nil || w.op != i {
			continue
		}
		told := receipt != nil && receipt.Revision != 0 && w.plain && w.events == 1
		if n == nil && told {
			if m.fresh == nil {
				m.fresh = map[string]registry.Node{}
			}
			m.fresh[name] = n.after(&ops[i], receipt, i, owner)
		}
		if n == nil || n.phase != held {
			continue
		}
		if !told {
			n.phase = dirty
			m.queue = append(m.queue, name)
			continue
		}
		n.phase = clean
		m.open--
		m.learn(name, n, n.after(&ops[i], receipt, i, owner))
	}
}

// after is the node when an op was applied to it.
func (n *entry) after(op *registry.Op, r *registry.Receipt, i int, owner registry.SessionID) registry.Node {
	switch op.Kind {
	case registry.Delete:
		return registry.Node{}
	case registry.Set:
		stat := registry.Stat{
			Created: n.last.created, Modified: r.Revision, ChildrenChanged: n.last.childrenChanged, Version: r.Results[i].Version,
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
