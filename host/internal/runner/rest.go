package runner

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/removal"
)

// deleteRest deletes what a removal that was cut off has left of the job. Where another has finished
// that, or defined the job, nothing stays.
func (m *member) deleteRest() {
	m.life.start(func() {
		var answer restDeletedMessage
		if err := removal.Once(m.life.ctx, m.session, m.Layout); err != nil && !removal.Overtaken(err) {
			answer.fault = err.Error()
		}
		m.inbox.put(answer)
	})
}

// restDeleted passes the answer to the core. The server does not wait for a job whose rest stays.
func (m *member) restDeleted(fault string) {
	m.step(protocol.RestDeleted{Fault: fault})
	m.publishSnapshot()
	m.markJoined()
}
