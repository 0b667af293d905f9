package protocol_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// A backfill writes the assignment, so the assignment must have been read.
func TestBackfillNeedsAnAssignment(t *testing.T) {
	t.Parallel()
	v := &protocol.View{Config: &protocol.Config{Total: 1}, Items: []protocol.Item{{Exists: true}}}
	a := protocol.AskBackfill{Queues: []protocol.Backfill{{Instants: []int64{50_000}}}}
	if m, fault := protocol.Fulfil(v, a); m != nil || fault == "" {
		t.Errorf("without an assignment: %v %q", m, fault)
	}
	v.Assignment.Exists = true
	if m, fault := protocol.Fulfil(v, a); m == nil || fault != "" {
		t.Errorf("with one: %v %q", m, fault)
	}
}
