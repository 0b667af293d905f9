package mirror

import "github.com/wasmjob/wasmjob/host/registry"

// A deleted node need not be read, since the event says that it is gone. But events of
// other nodes that the same transaction changed may still be on their way. They come before
// the answer to any request that is sent after the first event. So of the nodes that were
// deleted together, at most one is read.

// markGone records that a node was deleted. Its token is the number of the last request that
// was sent before.
func (m *Mirror) markGone(name string, n *entry) {
	if n.phase == clean {
		m.unsettled++
		n.phase = gone
		m.gone = append(m.gone, name)
	}
	n.token = m.requests
}

// confirmGone adds a read of one deleted node, unless a request was sent after the events
// of all of them.
func (m *Mirror) confirmGone(reads []Read) []Read {
	left := m.gone[:0]
	asked := true
	for _, name := range m.gone {
		n := m.entry(name)
		if n == nil || n.phase != gone {
			continue
		}
		asked = asked && n.token != m.requests // a request was sent since, whose answer will do
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

// confirmedGone makes deleted nodes clean if their events came before the given request was
// sent. The request is answered, so all events of those transactions have come.
func (m *Mirror) confirmedGone(request uint32) {
	waiting := m.gone
	m.gone = nil
	for _, name := range waiting {
		n := m.entry(name)
		if n == nil || n.phase != gone {
			continue
		}
		if int32(request-n.token) <= 0 { // the request is not newer; numbers of requests may wrap
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

// unconfirmedGone makes deleted nodes wait for the next request, because one got no
// answer.
func (m *Mirror) unconfirmedGone() {
	for _, name := range m.gone {
		if n := m.entry(name); n != nil && n.phase == gone {
			n.token = m.requests
		}
	}
}

// remove ends the mirroring of a followed node and of those below it. One that existed is
// reported as a change to nothing.
func (m *Mirror) remove(name string) {
	n := m.followed[name]
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
	delete(m.followed, name)
	for _, k := range m.relist(name, nil) {
		m.remove(k)
	}
}
