package runner

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/removal"
)

// deleteRest deletes the rest of the job's removal. It may be gone already: another server
// has finished the removal, or the job was defined again.
func (m *member) deleteRest() {
	m.life.start(func() {
		var answer restDeletedMessage
		if err := removal.Once(m.life.ctx, m.session, m.Layout); err != nil && !removal.Overtaken(err) {
			answer.fault = err.Error()
		}
		m.inbox.put(answer)
	})
}

// restDeleted passes the answer to the core. A rest that cannot be deleted does not keep
// the server from becoming ready.
func (m *member) restDeleted(fault string) {
	m.step(protocol.RestDeleted{Fault: fault})
	m.publishSnapshot()
	m.markJoined()
}
