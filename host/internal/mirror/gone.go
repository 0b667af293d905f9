package mirror

import "github.com/wasmjob/wasmjob/host/registry"

// A node that was deleted need not be read: the event says all. But it says so
// of one node, while others that the same transaction touched have their events
// to come. The answer to any question that was asked after the event comes
// after those. So of all nodes that are gone at most one is read.

// leave notes that a node is gone, as of now.
func (m *Mirror) leave(path string, n *entry) {
	if n.phase == clean {
		m.open++
		n.phase = gone
		m.gone = append(m.gone, path)
	}
	n.token = m.tokens
}

// witness adds a read for the nodes that are gone, if nothing was asked since.
func (m *Mirror) witness(reads []Read) []Read {
	left := m.gone[:0]
	asked := true
	for _, path := range m.gone {
		n := m.nodes[path]
		if n == nil || n.phase != gone {
			continue
		}
		asked = asked && n.token != m.tokens
		left = append(left, path)
	}
	m.gone = left
	if asked || len(left) == 0 {
		return reads
	}
	path := left[len(left)-1]
	n := m.nodes[path]
	m.tokens++
	n.phase, n.token = reading, m.tokens
	return append(reads, Read{Path: path, token: n.token})
}

// witnessed: the question of that number was answered, so what was gone when it
// was asked is gone in every view from now on.
func (m *Mirror) witnessed(question uint32) {
	waiting := m.gone
	m.gone = nil
	for _, path := range waiting {
		n := m.nodes[path]
		if n == nil || n.phase != gone {
			continue
		}
		if int32(question-n.token) <= 0 {
			m.gone = append(m.gone, path)
			continue
		}
		n.phase = clean
		m.open--
		m.flash(path, n, false)
		if n.has(exists) {
			m.learn(path, n, registry.Node{})
		}
	}
}

// unwitnessed: a question has no answer; another is to be asked.
func (m *Mirror) unwitnessed() {
	for _, path := range m.gone {
		if n := m.nodes[path]; n != nil && n.phase == gone {
			n.token = m.tokens
		}
	}
}
