package runner

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// skewNoise is the smallest change of the skew, in ms, that is passed to the core.
const skewNoise = 10

// checkSkew passes a changed skew to the core: by how much this server's clock is ahead
// of the registry's.
func (m *member) checkSkew() {
	skew := m.session.Skew()
	if !m.sent.newSkew(skew) {
		return
	}
	m.advance(protocol.Measured{Skew: skew})
	if m.loop.View() != nil {
		m.publishSnapshot() // the core may report a trouble
	}
}

// skewIsNews reports whether a skew differs from the known one by skewNoise or more, or has
// become 0.
func skewIsNews(known, skew int64) bool {
	return max(skew-known, known-skew) >= skewNoise || skew == 0 && known != 0
}
