package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// reschedule sets the clock to another schedule; "" ends the ticks.
func (m *member) reschedule(cron string) {
	m.cron = cron
	if m.drain.begun() {
		return
	}
	m.inbox.dropTick()
	if cron == "" {
		m.Clock.Remove()
		m.troubles.clear(troubleSchedule)
		return
	}
	// Both use the same moment: instants up to it are passed below, later ones tick.
	now := time.Now()
	switch err := m.Clock.Set(cron, now, m.inbox.due); {
	case errors.Is(err, ErrOver): // earlier instants may still need a row
		m.Clock.Remove()
		m.Log.Warn("the schedule is over; no run is due any more", "cron", cron)
		m.troubles.set(troubleSchedule, fmt.Sprintf("the schedule %q is over: %v", cron, err))
	case err != nil:
		m.Clock.Remove()
		m.Log.Error("the schedule in the registry cannot be used; no run is due", "cron", cron, "error", err)
		m.troubles.set(troubleSchedule, fmt.Sprintf("the schedule %q cannot be used: %v", cron, err))
		return // it has no instants that could have passed
	default:
		m.troubles.clear(troubleSchedule)
	}
	m.inbox.put(inputMessage{protocol.Passed{At: m.newestInstant(cron, now), Next: m.nextInstant(now.UnixMilli())}})
}

// newestInstant returns the last instant of the schedule that is not after now, or 0 if
// there was none for years. Schedules only search forward, so it tries ever longer
// stretches of the past. The bound now+1 includes an instant that is exactly now.
func (m *member) newestInstant(cron string, now time.Time) int64 {
	for _, back := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour, 5 * 366 * 24 * time.Hour} {
		_, last, n, err := m.Clock.Between(cron, now.Add(-back).UnixMilli(), now.UnixMilli()+1)
		if err != nil || n > 0 {
			return last
		}
	}
	return 0
}

// nextInstant returns the first instant of the schedule after a moment, or 0 if there is
// none. It also returns 0 unless the layout identifies members by addresses: only such a
// layout has a node for the next instant.
func (m *member) nextInstant(after int64) int64 {
	if v := m.loop.State().View(); v == nil || !v.ByAddress {
		return 0
	}
	return m.Clock.After(m.cron, after)
}
