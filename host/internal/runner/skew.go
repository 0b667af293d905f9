package runner

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// measureEvery is how often the clock is compared with the registry's, at most.
const measureEvery = time.Minute

// measure compares the clock with the registry's, if the job asks for that: when
// it has joined, and then, as long as anything happens, once in a while.
func (m *member) measure() {
	if m.self == "" || m.effective.job.MaxClockSkew < 0 || !m.measured.IsZero() && time.Since(m.measured) < measureEvery {
		return
	}
	m.measured = time.Now()
	m.work.Go(func() {
		sent := time.Now()
		theirs, err := m.line.Time(m.life)
		if err != nil {
			m.Log.Warn("the registry does not tell the time", "error", err)
			return // the next time
		}
		took := time.Since(sent)
		m.box.put(inputLetter{protocol.Measured{Skew: skewOf(sent, took, theirs)}})
	})
}

// skewOf is by how many ms a clock was ahead, at least: the registry looked at its
// own at some moment between the question and the answer.
func skewOf(sent time.Time, took time.Duration, theirs time.Time) int64 {
	switch {
	case theirs.Before(sent):
		return sent.Sub(theirs).Milliseconds()
	case theirs.After(sent.Add(took)):
		return -theirs.Sub(sent.Add(took)).Milliseconds()
	}
	return 0
}
