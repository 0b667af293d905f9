package runner

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// sendReads sends the reads of nodes that are due, and has itself called again for those
// that are due later. Each answer goes into the inbox.
func (m *member) sendReads() {
	reads, wait := m.loop.Reads()
	if wait > 0 {
		time.AfterFunc(wait, func() { m.inbox.put(marksDueMessage{}) })
	}
	for _, r := range reads {
		m.session.Fetch(m.life.ctx, r.Path, func(n registry.Node, err error) {
			m.inbox.put(replyMessage{read: r, node: n, err: err})
		})
	}
}

// readAnswered handles the answer to a read.
func (m *member) readAnswered(reply replyMessage) {
	if reply.err == nil {
		m.report.readAllowed(reply.read.Path)
		m.loop.Reply(reply.read, reply.node)
		return
	}
	if errors.Is(reply.err, registry.ErrDenied) {
		m.report.readDenied(reply.read.Path, reply.err)
	}
	m.Log.Debug("a read failed", "path", reply.read.Path, "error", reply.err)
	m.initialRead.release() // other jobs need not wait for the next attempt, which may come late
	if pause := m.loop.Failed(reply.read); pause > 0 {
		time.AfterFunc(pause, func() { m.inbox.put(retryReadsMessage{}) })
	}
}
