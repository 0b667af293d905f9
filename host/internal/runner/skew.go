package runner

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// skewNoise, in ms, is no news to the core.
const skewNoise = 10

// checkSkew tells the core by how much the clock differs from the registry's, when
// that is news.
func (m *member) checkSkew() {
	skew := m.session.Skew()
	if !m.sent.newSkew(skew) {
		return
	}
	m.advance(protocol.Measured{Skew: skew})
	if m.loop.View() != nil {
		m.publishSnapshot() // it may be a trouble
	}
}

// skewIsNews: the clocks differ otherwise than was told, or not at all any more.
func skewIsNews(known, skew int64) bool {
	return max(skew-known, known-skew) >= skewNoise || skew == 0 && known != 0
}
