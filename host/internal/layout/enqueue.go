package layout

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Enqueue is the transaction of somebody who is no member and lets runs of a job wait for
// the owners of their items, as retries that moved do. It begins a new epoch, so that no
// member takes one of them for an earlier run of the item that has waited there. It is
// refused if a member has joined since the view, as its release may not know such runs.
func Enqueue(l Layout, v *protocol.View, runs []protocol.Pending) []registry.Op {
	ops := l.Encode(protocol.Account{Next: &v.Assignment, Pend: runs}, v)
	// The first one sets the record of the member that accounts.
	ops[0] = registry.Op{Kind: registry.Check, Path: l.At(jobtree.NodeMembers), Version: v.Joins}
	return ops
}
