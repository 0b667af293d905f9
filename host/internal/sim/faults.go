package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// faults has the weight of each disturbance.
type faults struct {
	every                                                 int64 // mean time between two
	crash, freeze, cut, stall, clock, operator, ask, java float64
	depose                                                float64 // drawn only if a profile has it
}

// disturb draws how often each fault happens, and schedules faults until the calm. A
// fifth of the worlds lacks a kind.
func (w *World) disturb() {
	on := func(p float64) float64 {
		if w.chance(0.8) {
			return p
		}
		return 0
	}
	p := w.profile.faults
	w.faults = faults{
		every: w.between(w.profile.every[0], w.profile.every[1]) * millisecond,
		crash: on(p.crash), freeze: on(p.freeze), cut: on(p.cut), stall: on(p.stall), clock: on(p.clock), operator: on(p.operator), ask: on(p.ask), java: on(p.java),
	}
	w.faults.depose = p.depose
	if w.chance(0.03) {
		w.faults = faults{every: second} // few faults
	}
	w.nextFault()
	if w.profile.catchUp {
		w.nextBlackout()
		w.nextBackfill()
	}
}

// nextFault injects faults one after the other until the calm.
func (w *World) nextFault() {
	w.after(w.between(w.faults.every/10, 2*w.faults.every), func() {
		if w.calm {
			return
		}
		w.fault()
		w.nextFault()
	})
}

// fault injects one fault, drawn by the weights of its kinds, on a member of ours. If
// none is up, it disturbs a foreign one.
func (w *World) fault() {
	up := w.up()
	if len(up) == 0 {
		w.vex()
		return
	}
	m := up[w.rng.IntN(len(up))]
	f := w.faults
	kinds := []struct {
		weight float64
		do     func()
	}{
		{f.crash, func() { w.crash(m) }},
		{f.freeze, func() { w.freeze(m) }},
		{f.cut, func() { w.cut(m) }},
		{f.stall, func() { w.stall(m) }},
		{f.clock, func() { // as often as a clock is set
			m.outage = w.now + w.between(0, 8*second)
			w.tracef("%s: its history stores nothing for %d ms", m.name(), (m.outage-w.now)/millisecond)
		}},
		{f.clock, func() {
			m.offset, m.set = w.between(-w.profile.skew, w.profile.skew+1), w.now
			w.tracef("%s: its clock is set to %+d ms", m.name(), m.offset)
		}},
		{f.operator, w.operate},
		{f.ask, func() { w.ask(m) }},
		{f.java, w.vex},
		{f.depose, func() { w.usurp(m) }},
	}
	var sum float64
	for _, k := range kinds {
		sum += k.weight
	}
	x := w.rng.share(sum)
	for _, k := range kinds {
		if x -= k.weight; x < 0 {
			k.do()
			return
		}
	}
}

// freeze stops a process for a while, at most for twice the time-out of its session.
func (w *World) freeze(m *member) {
	m.freeze()
	life := m.life
	w.after(w.between(50*millisecond, 2*m.s.timeout), func() {
		if m.life == life {
			m.thaw()
		}
	})
}

// stall lets the replica that the member reads from stand still for a while.
func (w *World) stall(m *member) {
	if d := w.between(20*millisecond, 2*m.s.timeout); m.s.connected {
		w.tracef("%s: its replica stands still for %d ms", m.name(), d/millisecond)
		m.s.stall(d)
	}
}

// crash ends a process. Most come back, with the same process id or another.
func (w *World) crash(m *member) {
	m.crash()
	if w.retire(m) {
		return
	}
	life := m.life
	w.after(w.between(100*millisecond, w.profile.restart*millisecond), func() {
		if !m.up && m.life == life {
			if w.chance(0.5) {
				m.pid++
			}
			m.start()
		}
	})
}

// retire sometimes removes a server for good; two stay.
func (w *World) retire(m *member) bool {
	stay := 0
	for _, o := range w.members {
		if !o.retired {
			stay++
		}
	}
	if stay <= 2 || !w.chance(0.1) {
		return false
	}
	w.tracef("%s: is not to come back", m.name())
	m.retired = true
	if w.chance(0.5) {
		w.after(w.between(0, 4*second), func() {
			if w.calm && w.inUse(m.ip) {
				return // no operator would enable it again
			}
			if v := w.ledger.v; slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.IP == m.ip && !s.Disabled }) {
				w.tool(protocol.DisableServer{IP: m.ip, Disabled: true})
			}
		})
	}
	return true
}

// cut breaks the member's connection for a while. The member notices later, perhaps only
// when its session is long over.
func (w *World) cut(m *member) {
	s := m.s
	if !s.connected {
		return
	}
	w.tracef("%s: connection breaks", m.name())
	s.drop()
	life, epoch := m.life, s.epoch
	detect := w.between(millisecond, s.timeout)
	if w.chance(0.5) {
		detect = w.between(millisecond, 100*millisecond)
	}
	w.after(detect, func() {
		if s.epoch == epoch {
			m.guard(life, m.suspended)
		}
	})
	heal := detect + w.between(millisecond, s.timeout)
	if w.chance(0.5) {
		heal = detect + w.between(millisecond, 200*millisecond)
	}
	w.after(heal, func() { w.reconnect(m, s) })
}

// reconnect gives the session a new connection, unless it has one or the member has
// another session. If the session is over, the member learns that instead.
func (w *World) reconnect(m *member, s *session) {
	if !m.up || m.s != s || s.connected {
		return
	}
	life := m.life
	s.epoch++
	m.guard(life, m.suspended)
	if !s.alive {
		w.after(w.delay(), func() { m.guard(life, m.ended) })
		return
	}
	w.tracef("%s: reconnects", m.name())
	s.reconnected()
	w.after(w.delay(), func() {
		if s.connected {
			m.guard(life, m.resumed)
		}
	})
}

// up returns the members of ours that have a session.
func (w *World) up() []*member {
	return slices.DeleteFunc(slices.Clone(w.members), func(m *member) bool { return !m.up || m.st == nil })
}

// foreignSession owns the nodes of a foreign member without a process.
const foreignSession = 1 << 40

// visit registers a foreign member without a process for a few seconds.
func (w *World) visit() {
	if w.visiting || !w.tree.Get(w.nodes.instances).Exists {
		return
	}
	w.visiting = true
	w.foreign(true)
	w.after(w.between(100*millisecond, 6*second), func() {
		w.visiting = false
		w.foreign(false)
	})
}

// visitor is the id of the foreign member without a process.
const visitor = protocol.ID("10.0.9.9@-@77")
