package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// recordMissed writes rows of a job that no server runs, if no server has come since. It
// creates a record if the member has none.
func (t *transaction) recordMissed(m protocol.RecordMissed) {
	t.noneJoined("record-missed/joins")
	if t.version(m.ID) == impossibleVersion {
		t.op(registry.Create, t.runsOf(m.ID), spelling.EncodeRuns(&m.Own), 0)
		return
	}
	t.own(m.ID, m.Own)
}
