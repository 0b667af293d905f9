package sim

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// heartbeat sends a heartbeat after each sixth of the time-out, and checks the health of
// the session twice as often, as long as the member is in this life.
func (m *member) heartbeat(life int) {
	w := m.w
	beat := 0
	turn := func() {
		if beat%2 == 0 {
			m.s.ask(request{beat: w.now})
		}
		beat++
	}
	var again func()
	again = func() {
		if m.life != life || !m.up {
			return
		}
		m.guard(life, turn)
		w.after(m.s.timeout/12, again)
	}
	again()
}

// acknowledged records that a transaction was acknowledged. The registry may count the
// time-out from the moment at which it was sent.
func (m *member) acknowledged(sent int64) { m.acked = max(m.acked, sent) }

// trust is the health of the session by the member's own clock.
func (m *member) trust() protocol.Doubt {
	switch quiet := m.w.now - m.acked; {
	case quiet >= m.s.timeout*3/4:
		return protocol.Expired
	case quiet >= m.s.timeout/2:
		return protocol.Doubtful
	}
	return protocol.Trusted
}

// doubts passes the health of the session to the loop.
func (m *member) doubts() {
	if m.st == nil {
		return
	}
	level := m.trust()
	for _, in := range m.loop.Trust(level, false) {
		m.w.tracef("%s: doubt %d", m.name(), level)
		m.advance(in)
		if level == protocol.Trusted {
			m.w.ledger.recovers(m)
		}
	}
}

// suspended is called when the client notices the loss of the connection. All that has
// no answer ends: reads are repeated later, the outcome of a transaction is unknown, and
// a deletion of a removed job has failed.
func (m *member) suspended() {
	m.loop.Event(registry.Event{Kind: registry.Suspended})
	for _, r := range m.reads {
		if pause := m.loop.Failed(r); pause > 0 {
			m.later(pause.Microseconds(), m.loop.Repeat)
		}
	}
	m.reads = nil
	m.unanswered()
	m.restDeleted(m.deletion, "the connection is lost")
}

// unanswered ends the wait for the answer to a transaction; its outcome is unknown.
func (m *member) unanswered() {
	if c := m.commit; c != nil {
		m.commit = nil
		in, _ := m.loop.Answered(c.plan, registry.Receipt{}, 0, registry.ErrUnknown)
		m.step(in)
	}
}

// resumed is called when the session has a connection again. Views of the jobs before
// may have been lost meanwhile, and so may the answer to a sync.
func (m *member) resumed() {
	m.loop.Event(registry.Event{Kind: registry.Resumed})
	m.readBefore()
	if m.loop.Syncing() && !m.resting && m.st != nil {
		m.sync(0)
	}
}

// ended is called when the session is over. It ends the guests before anything else.
func (m *member) ended() {
	if m.st == nil {
		return
	}
	m.w.tracef("%s: session over", m.name())
	m.step(protocol.SessionLost{})
	m.endGuests()
	m.lost, m.st = true, nil
	life := m.life
	m.w.after(m.w.between(10*millisecond, second), func() {
		if m.up && m.life == life {
			m.start()
		}
	})
}

// endGuests ends all guests and the call of a listener at once. What they would have
// reported is ignored.
func (m *member) endGuests() {
	for _, g := range m.guests {
		g.over = true
	}
	m.guests, m.call = nil, nil
}

// stop is called when the member has left. With rejoin the process goes on and joins
// again in another session; otherwise it ends, and is started again later.
func (m *member) stop(rejoin bool) {
	w := m.w
	w.tracef("%s: stops, rejoin %v", m.name(), rejoin)
	m.endGuests()
	m.st = nil
	s := m.s
	w.after(w.delay(), func() { w.endSession(s) })
	life := m.life
	if !rejoin {
		m.up = false
	}
	w.after(w.between(50*millisecond, 3*second), func() {
		if m.life == life && !m.retired {
			m.start()
		}
	})
}

// crash ends the process. The registry notices only its silence.
func (m *member) crash() {
	m.w.tracef("%s: crashes", m.name())
	m.endGuests()
	m.up, m.st, m.frozen, m.backlog = false, nil, false, nil
	m.s.drop()
}

// freeze stops the process, as SIGSTOP does. What it would do meanwhile waits in the
// backlog.
func (m *member) freeze() {
	m.w.tracef("%s: freezes", m.name())
	m.frozen = true
}

// thaw lets a frozen process do what has waited.
func (m *member) thaw() {
	if !m.frozen {
		return
	}
	m.w.tracef("%s: thaws", m.name())
	m.frozen = false
	todo := m.backlog
	m.backlog = nil
	life := m.life
	// Nothing can stop a guest between waking and its next yield, so the sink must be able
	// to refuse its token.
	for _, g := range m.guests {
		if m.w.chance(0.5) {
			m.w.ledger.writes(g)
		}
	}
	m.guard(life, func() {}) // the loop looks at the clock before anything else
	for _, do := range todo {
		do()
	}
}

// sync syncs the session. After a lost connection it asks again on the next one.
func (m *member) sync(pause time.Duration) {
	if m.resting = pause > 0; m.resting {
		m.later(pause.Microseconds(), func() {
			if m.st != nil && m.resting {
				m.sync(0)
			}
		})
		return
	}
	life, at := m.life, m.w.now
	m.s.sync(func() {
		if m.life == life {
			m.acknowledged(at)
			m.loop.Synced()
		}
	})
}
