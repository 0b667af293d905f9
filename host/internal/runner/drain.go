package runner

import (
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// drain is the orderly leaving of a member.
type drain struct {
	phase drainPhase
	why   reason.Reason
	timer *time.Timer // ends the phase; nil if the drain has not begun
}

type drainPhase uint8

const (
	notDraining drainPhase = iota
	finishing              // guests may end by themselves
	stopping               // guests were asked to stop; their ends are being stored
)

// leaveTimeout is how long it may take, after the last guest was ended, to commit and
// store the ends of runs.
const leaveTimeout = 5 * time.Second

// begun reports whether the member has begun to leave.
func (d *drain) begun() bool { return d.phase != notDraining }

// begin gives guests the time wait to end by themselves. It calls timeout at the end of
// each phase.
func (d *drain) begin(wait time.Duration, why reason.Reason, timeout func()) {
	d.phase, d.why = finishing, why
	d.timer = time.AfterFunc(wait, timeout)
}

// hurry ends the time in which guests may end by themselves.
func (d *drain) hurry() {
	if d.phase == finishing {
		d.timer.Reset(0)
	}
}

// stopGuests begins the phase in which guests have the time grace to stop.
func (d *drain) stopGuests(grace time.Duration) {
	d.phase = stopping
	d.timer.Reset(grace + leaveTimeout)
}

func (d *drain) stop() { stopTimer(d.timer) }

// shutDown makes the member leave because its server shuts down. Its guests have the drain
// time-out to end by themselves, and none if cause is job.ErrStopNow.
func (m *member) shutDown(cause error) {
	wait := m.DrainTimeout
	if errors.Is(cause, job.ErrStopNow) {
		wait = 0
	}
	m.beginDrain(wait, reason.Of(reason.ShuttingDown))
	m.step(protocol.Asked{Ask: protocol.AskLeave{}})
}

// beginDrain ends the ticks and gives guests the time wait to end by themselves, because of
// why. The core leaves as soon as no run is open. A drain that has already begun gets no
// extra time; with wait 0 its guests are asked to stop now.
func (m *member) beginDrain(wait time.Duration, why reason.Reason) {
	if m.drain.begun() {
		if wait == 0 {
			m.drain.hurry()
		}
		return
	}
	m.Clock.Remove()
	m.leaving.Store(true)
	m.drain.begin(wait, why, func() { m.inbox.put(drainTimeoutMessage{}) })
}

// drainTimeout ends a phase of the drain whose time is up: it asks guests to stop or, if
// they were asked already, ends the member without what is still missing.
func (m *member) drainTimeout() {
	if m.drain.phase == finishing {
		m.calls.listener.end()
		m.drain.stopGuests(m.guests.askToStop(job.StopShutdown, m.drain.why))
		return
	}
	m.Log.Error("left the job before everything was stored; the next start stores the rest", "guests", len(m.guests.byItem))
	m.exit.fail(ErrUnsafe)
}
