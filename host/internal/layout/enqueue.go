package layout

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Enqueue returns the transaction by which an operator, who is no member, makes runs
// pending, so that the owners of their items begin them. It begins a new epoch, so that no
// member takes such a run for an earlier one of the item that was pending. It is refused if
// a member has joined since the view, whose release may not know such runs.
func Enqueue(l Layout, v *protocol.View, runs []protocol.Pending) []registry.Op {
	ops := l.Encode(protocol.Account{Next: &v.Assignment, Pend: runs}, v)
	// Account first sets the record of its member, which the caller does not have.
	ops[0] = registry.Op{Kind: registry.Check, Path: l.At(jobtree.NodeMembers), Version: v.Joins}
	return ops
}
