package runner

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// freshAsks are the asks that the core does not know yet. The core decides by its view,
// which may be older than a change that another server has just made: it would find an
// item enabled that was disabled there a moment ago, and an ask to enable it would do
// nothing. So the member syncs the session after the ask came, and passes the ask to the
// core with a view that has what the sync brought. That takes a transaction; a request
// whose own would be refused then does without. maxAsks bounds each list.
type freshAsks struct {
	syncing  bool             // a sync is under way; its message has the asks that came before it
	unsynced []protocol.Asked // asks that came since that sync was sent
	synced   []protocol.Asked // asks that wait for a view with what their sync brought
}

// handleAsk handles an ask that came.
func (m *member) handleAsk(a protocol.Asked) {
	if m.loop.Current() && protocol.RefusedIfOld(m.loop.View(), a.Ask) {
		m.step(a)
		return
	}
	m.asks.unsynced = append(m.requests.waiting(m.asks.unsynced), a)
	m.syncAsks()
}

// syncAsks syncs the session for all asks that came. One sync is under way at a time. If
// the registry takes no writes, the core does not learn it from this sync: it would hold
// that for true until its next view, and none follows while nothing changes.
func (m *member) syncAsks() {
	if a := &m.asks; !a.syncing && len(a.unsynced) > 0 {
		a.syncing = true
		m.syncAfter(0, asksSyncedMessage{a.unsynced}, m.report.readOnly)
		a.unsynced = nil
	}
}

// asksSynced handles the sync that was sent after the asks came.
func (m *member) asksSynced(asks []protocol.Asked) {
	m.asks.syncing = false
	m.asks.synced = m.requests.waiting(append(m.asks.synced, asks...))
	m.syncAsks()
}

// passAsks passes the asks to the core, once its view is as new as their sync.
func (m *member) passAsks() {
	if m.exit.due || len(m.asks.synced) == 0 || !m.loop.Current() {
		return
	}
	asks := m.requests.waiting(m.asks.synced)
	m.asks.synced = nil
	for _, a := range asks {
		m.step(a)
	}
}
