package runner

import (
	"errors"
	"maps"
	"slices"
	"strings"
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

// readAnswered takes the answer to a read.
func (m *member) readAnswered(l replyMessage) {
	if l.err == nil {
		m.allow(l.read.Path)
		m.loop.Reply(l.read, l.node)
		return
	}
	if errors.Is(l.err, registry.ErrDenied) {
		m.deny(l.read.Path, l.err)
	}
	m.Log.Debug("a read failed", "path", l.read.Path, "error", l.err)
	m.endInitialRead() // it may take long
	if pause := m.loop.Failed(l.read); pause > 0 {
		time.AfterFunc(pause, func() { m.inbox.put(retryReadsMessage{}) })
	}
}

// deny keeps a path that may not be read, for whoever asks why the job does
// nothing.
func (m *member) deny(path string, cause error) {
	if _, known := m.denied[path]; known {
		return
	}
	if m.denied == nil {
		m.denied = map[string]string{}
	}
	m.denied[path] = cause.Error()
	m.Log.Error("a node of the job may not be read, nothing begins; it is tried again until it may", "error", cause)
	m.tellDenied()
}

func (m *member) allow(path string) {
	if _, known := m.denied[path]; known {
		delete(m.denied, path)
		m.tellDenied()
	}
}

// allowAll: every path could be read, or is of no account any more.
func (m *member) allowAll() {
	if len(m.denied) > 0 {
		m.denied = nil
		m.tellDenied()
	}
}

func (m *member) tellDenied() {
	m.troubles.set(troubleRead, strings.Join(slices.Sorted(maps.Values(m.denied)), "; "))
}
