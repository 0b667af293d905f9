package runner

import "github.com/wasmjob/wasmjob/host/internal/protocol"

// skewNoise, in ms, is no news to the core.
const skewNoise = 10

// measure tells the core by how much the clock differs from the registry's, when
// that is news.
func (m *member) measure() {
	skew := m.line.Skew()
	if !isNews(m.skew, skew) {
		return
	}
	m.skew = skew
	m.advance(protocol.Measured{Skew: skew})
	if m.loop.View() != nil {
		m.show() // it may be a trouble
	}
}

// isNews: the clocks differ otherwise than was told, or not at all any more.
func isNews(told, skew int64) bool {
	return max(skew-told, told-skew) >= skewNoise || skew == 0 && told != 0
}
