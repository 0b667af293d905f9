package mirror

import "github.com/wasmjob/wasmjob/host/registry"

// A node that was deleted need not be read: the event says all. But it says so
// of one node, while others that the same transaction touched have their events
// to come. The answer to any question that was asked after the event comes
// after those. So of all nodes that are gone at most one is read.

// leave notes that a node is gone, as of now.
func (m *Mirror) leave(name string, n *entry) {
	if n.phase == clean {
		m.open++
		n.phase = gone
		m.gone = append(m.gone, name)
	}
	n.token = m.tokens
}

// witness adds a read for the nodes that are gone, if nothing was asked since.
func (m *Mirror) witness(reads []Read) []Read {
	left := m.gone[:0]
	asked := true
	for _, name := range m.gone {
		n := m.entry(name)
		if n == nil || n.phase != gone {
			continue
		}
		asked = asked && n.token != m.tokens
		left = append(left, name)
	}
	m.gone = left
	if asked || len(left) == 0 {
		return reads
	}
	name := left[len(left)-1]
	n := m.entry(name)
	m.tokens++
	n.phase, n.token = reading, m.tokens
	return append(reads, Read{m.path(name), name, n.token})
}

// witnessed: the question of that number was answered, so what was gone when it
// was asked is gone in every view from now on.
func (m *Mirror) witnessed(question uint32) {
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
		m.open--
		m.flash(name, n, false)
		if n.has(exists) {
			m.learn(name, n, registry.Node{})
		}
	}
}

// unwitnessed: a question has no answer; another is to be asked.
func (m *Mirror) unwitnessed() {
	for _, name := range m.gone {
		if n := m.entry(name); n != nil && n.phase == gone {
			n.token = m.tokens
		}
	}
}
