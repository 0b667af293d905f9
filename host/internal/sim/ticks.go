package sim

import (
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// reschedule starts ticks at every multiple of the period on the member's clock. The
// core learns the newest instant before it did, and the next.
func (m *member) reschedule(cron string) {
	m.ticker++
	m.prev, m.before, m.fresh = 0, 0, false // ticks of the old schedule are dropped
	m.period = period(cron)
	if m.period > 0 {
		m.later(1, func() {
			at := m.now() / m.period * m.period
			if m.ticked == 0 {
				m.unseen, m.first = at, m.now()
			}
			m.ticked = max(m.ticked, at)
			m.step(protocol.Passed{At: at, Next: at + m.period})
			m.leaveUnseen()
		})
		m.nextTick(m.now())
	}
}

// nextTick waits for the first instant after a time, passes it to the core, and goes on,
// until the member is rescheduled.
func (m *member) nextTick(after int64) {
	n := m.ticker
	at := (after/m.period + 1) * m.period
	m.later((at-m.now())*millisecond, func() {
		if n != m.ticker || m.st == nil {
			return
		}
		if m.now() < at { // the clock was set back
			m.nextTick(m.now())
			return
		}
		// A frozen process catches up with the newest instant at once.
		if late := m.now() / m.period * m.period; late > at {
			at, m.prev = late, 0
		}
		m.measure()
		if m.w.ticking() {
			m.w.ledger.due(m, at)
			prev := m.prev
			if m.prev = at; at > m.ticked {
				m.ticked, m.before, m.fresh, m.unseen = at, prev, true, 0
			}
			m.step(protocol.Tick{At: at, Prev: prev, Next: at + m.period})
		}
		if m.st != nil && n == m.ticker {
			m.nextTick(at)
		}
	})
}

// remeasure is the interval at which a clock is compared with the registry's, if the job
// says so.
const remeasure = 5 * second

// measure lets the member learn the error of its clock, if the job limits that and the
// last time is some seconds ago.
func (m *member) measure() {
	if m.w.config.MaxTimeDiffSeconds < 0 || m.w.now < m.measured+remeasure {
		return
	}
	m.measured = m.w.now
	m.later(m.w.between(1, 20*millisecond), func() {
		m.skew = m.offset
		m.advance(protocol.Measured{Skew: m.skew})
	})
}

// period returns the period of "0/n * * * * ?", the only kind of cron in the simulation.
func period(cron string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(strings.TrimSuffix(cron, " * * * * ?"), "0/"), 10, 64)
	return n * 1000
}

// store passes rows to the history, which is sometimes slow.
func (m *member) store(rows []protocol.Row) {
	d := m.w.between(200, 20*millisecond)
	if m.w.chance(0.05) && !m.w.calm {
		d = m.w.between(100*millisecond, 5*second)
	}
	self := m.st.Self()
	m.storing = max(m.storing+1, m.w.now+d, m.outage) // in order
	m.later(m.storing-m.w.now, func() {
		for _, r := range rows {
			m.w.ledger.stored(r)
		}
		if m.st != nil && m.st.Self() == self {
			m.stored = rows[len(rows)-1].Seq
			m.step(protocol.Stored{Upto: rows[len(rows)-1].Seq})
		}
	})
}
