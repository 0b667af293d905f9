package layout

import (
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The transaction is refused if a member has joined that the caller did not know of.
func TestEnqueueChecksJoins(t *testing.T) {
	t.Parallel()
	l := NewJob("n", "j")
	ops := Enqueue(l, &protocol.View{Joins: 7}, []protocol.Pending{{Entry: protocol.Entry{Trigger: "t-1", Param: "east"}}})
	if !slices.ContainsFunc(ops, func(op registry.Op) bool {
		return op.Kind == registry.Check && op.Path == "/n/j/wasm/members" && op.Version == 7
	}) {
		t.Errorf("the transaction is %+v", ops)
	}
}
