package mirror

import "github.com/wasmjob/wasmjob/host/registry"

// A deleted node need not be read: the event says all. But the event says it of one
// node, while the events of other nodes that the same transaction changed may still
// be on their way. The answer to any request sent after the event comes after
// those. So of all nodes that were deleted together at most one is read.

// markGone records that a node was deleted, before any later request.
func (m *Mirror) markGone(name string, n *entry) {
	if n.phase == clean {
		m.unsettled++
		n.phase = gone
		m.gone = append(m.gone, name)
	}
	n.token = m.requests
}

// confirmGone adds one read for the deleted nodes, unless a request was sent after
// their events.
func (m *Mirror) confirmGone(reads []Read) []Read {
	left := m.gone[:0]
	asked := true
	for _, name := range m.gone {
		n := m.entry(name)
		if n == nil || n.phase != gone {
			continue
		}
		asked = asked && n.token != m.requests
		left = append(left, name)
	}
	m.gone = left
	if asked || len(left) == 0 {
		return reads
	}
	name := left[len(left)-1]
	n := m.entry(name)
	m.requests++
	n.phase, n.token = reading, m.requests
	return append(reads, Read{m.path(name), name, n.token})
}

// confirmedGone ends the wait of deleted nodes, now that the given request was
// answered: all views from now on show the deletions whose events came before it
// was sent.
func (m *Mirror) confirmedGone(question uint32) {
	waiting := m.gone
	m.gone = nil
	for _, name := range waiting {
		n := m.entry(name)
		if n == nil || n.phase != gone {
			continue
		}
		if int32(question-n.token) <= 0 {
			m.gone = append(m.gone, name)
			continue
		}
		n.phase = clean
		m.unsettled--
		m.reportFlash(name, n, false)
		if n.has(exists) {
			m.learn(m.path(name), name, n, registry.Node{})
		}
	}
}

// unconfirmedGone makes deleted nodes wait for another request, because one got no
// answer.
func (m *Mirror) unconfirmedGone() {
	for _, name := range m.gone {
		if n := m.entry(name); n != nil && n.phase == gone {
			n.token = m.requests
		}
	}
}

func (m *Mirror) remove(name string) {
	n := m.more[name]
	if n == nil {
		return
	}
	if n.phase != clean {
		m.unsettled--
	}
	if n.has(exists) {
		m.changes = append(m.changes, Change{Path: m.path(name)})
	}
	m.own[name].mustRead()
	delete(m.more, name)
	for _, k := range m.relist(name, nil) {
		m.remove(k)
	}
}
