package v20

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// An item's lastCompleteTime is that of the run that ends, even if the row of the run
// before is not stored yet.
func TestTheEndOfARunIsItsOwn(t *testing.T) {
	t.Parallel()
	const me = "10.0.0.1@-@1"
	v := &protocol.View{
		ByAddress: true, Config: &protocol.Config{MonitorExecution: true}, Items: []protocol.Item{{Exists: true}},
		Runs: []protocol.Runs{{ID: me, RunsData: &protocol.RunsData{}}},
	}
	rows := []protocol.Row{{Seq: 1, Ended: 1000}, {Seq: 2, Ended: 2000}}
	j := NewJob("n", "j")
	ops := j.Encode(protocol.Complete{Self: me, Items: []int{0}, Own: protocol.RunsData{Rows: rows}}, v)
	if !slices.ContainsFunc(ops, func(op registry.Op) bool {
		return op.Path == j.Item(0, "lastCompleteTime") && string(op.Data) == "2000"
	}) {
		t.Errorf("it writes %+v", ops)
	}
}

// EndInstance ends the member at an address, and not its successor there.
func TestEndInstanceChecksTheMember(t *testing.T) {
	t.Parallel()
	const me = "10.0.0.1@-@1"
	j := NewJob("n", "j")
	v := &protocol.View{ByAddress: true, Members: []protocol.Member{{ID: me, Owner: 1}}}
	ops := j.EndInstance(v, me)
	if len(ops) != 2 || ops[0].Path != j.Instance(me) || ops[1].Kind != registry.Check || !strings.HasSuffix(ops[1].Path, me) {
		t.Errorf("it writes %+v", ops)
	}
	if ops := j.EndInstance(v, "10.0.0.2@-@?"); len(ops) != 1 {
		t.Errorf("of a node that no member has made: %+v", ops)
	}
}
