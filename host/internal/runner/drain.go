package runner

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// drainPhase is how far a member is on its way out.
type drainPhase uint8

const (
	notDraining drainPhase = iota
	finishing              // guests may end by themselves
	stopping               // they were asked to stop; what they did is stored
)

// leaveTimeout is how long, after the last guest was ended, the ends of runs
// may take to be committed and stored.
const leaveTimeout = 5 * time.Second

// leave ends the member because its server ends.
func (m *member) leave(now bool) {
	wait := m.DrainTimeout
	if now {
		wait = 0
	}
	m.beginDrain(wait, reason.Of(reason.ShuttingDown))
	m.step(protocol.Asked{Ask: protocol.AskLeave{}})
}

// beginDrain begins the way out: no more ticks, and the core leaves as soon as
// nothing is open. Who is on the way out already does not get more time by it.
func (m *member) beginDrain(wait time.Duration, why reason.Reason) {
	if m.draining != notDraining {
		if wait == 0 && m.draining == finishing {
			m.drain.Reset(0)
		}
		return
	}
	m.Clock.Remove()
	m.draining, m.departs = finishing, why
	m.leaving.Store(true)
	m.drain = time.AfterFunc(wait, func() { m.inbox.put(drainTimeoutMessage{}) })
}

// drainTimeout goes on when a phase has had its time.
func (m *member) drainTimeout() {
	if m.draining == finishing {
		m.draining = stopping
		m.cancelListener()
		grace := time.Duration(0)
		for _, g := range m.guests {
			g.askToStop(job.StopShutdown, m.departs)
			grace = max(grace, g.grace)
		}
		m.drain.Reset(grace + leaveTimeout)
		return
	}
	m.Log.Error("left without having stored everything; the next start does it", "guests", len(m.guests))
	m.over, m.err = true, ErrUnsafe
}
