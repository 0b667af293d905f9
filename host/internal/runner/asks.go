package runner

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// freshAsks are the asks that the core has not received yet. The core decides by its view,
// which may be older than a change by another server: if an item was disabled there a
// moment ago, the view still shows it enabled, and an ask to enable it would do nothing.
// So the member syncs the session after an ask has come, and passes the ask to the core
// with a view that contains everything the sync brought. A sync takes a transaction; an
// ask whose own transaction is refused if the view is too old needs none. maxAsks bounds
// each list.
type freshAsks struct {
	syncing  bool             // a sync is under way; its message holds the asks that came before it
	unsynced []protocol.Asked // asks that came since that sync was sent
	synced   []protocol.Asked // asks whose sync has succeeded, and that wait for a current view
}

// handleAsk passes a new ask to the core, at once if an old view may decide it, otherwise
// after a sync.
func (m *member) handleAsk(a protocol.Asked) {
	if m.loop.Current() && protocol.RefusedIfOld(m.loop.View(), a.Ask) {
		m.step(a)
		return
	}
	m.asks.unsynced = append(m.requests.waiting(m.asks.unsynced), a)
	m.syncAsks()
}

// syncAsks syncs the session for all asks that have come since the last sync was sent. One
// sync is under way at a time. If the registry takes no writes, this is reported, but not
// passed on to the core: the core would believe it until its next view, and no view follows
// while nothing changes.
func (m *member) syncAsks() {
	if a := &m.asks; !a.syncing && len(a.unsynced) > 0 {
		a.syncing = true
		m.syncAfter(0, asksSyncedMessage{a.unsynced}, m.report.readOnly)
		a.unsynced = nil
	}
}

// asksSynced handles the success of a sync that was sent for asks.
func (m *member) asksSynced(asks []protocol.Asked) {
	m.asks.syncing = false
	m.asks.synced = m.requests.waiting(append(m.asks.synced, asks...))
	m.syncAsks()
}

// passAsks passes the asks to the core when its view is current.
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
