package runner

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// fetch sends the reads that are due. Each answer goes into the inbox.
func (m *member) fetch() {
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
func (m *member) readAnswered(l replyMessage) {
	if l.err == nil {
		m.report.readAllowed(l.read.Path)
		m.loop.Reply(l.read, l.node)
		return
	}
	if errors.Is(l.err, registry.ErrDenied) {
		m.report.readDenied(l.read.Path, l.err)
	}
	m.Log.Debug("a read failed", "path", l.read.Path, "error", l.err)
	m.initialRead.release() // the next attempt may be long in coming
	if pause := m.loop.Failed(l.read); pause > 0 {
		time.AfterFunc(pause, func() { m.inbox.put(retryReadsMessage{}) })
	}
}
