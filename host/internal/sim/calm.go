package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// plan schedules what follows the faults and returns the end of the world: a calm in
// which everything heals, a time of order in which operators go on and requests must be
// fulfilled soon, and a quiet end without ticks.
func (w *World) plan() int64 {
	calm := w.now + w.between(w.profile.trouble[0], w.profile.trouble[1])*second
	w.at(calm, w.heal)
	orderly := calm + 3*w.timeout + 22*second
	w.at(orderly, func() {
		w.tracef("order")
		w.orderly = true
		if w.driver.on() {
			return // only the driver intervenes
		}
		// A member may carry out a request after the last undo of heal: in some layouts the
		// request waits until a dead member's address is free.
		w.undo()
		if len(w.jvms) > 0 {
			w.nextMove(orderly + 25*second)
			return
		}
		w.nextCommand(orderly + 25*second)
	})
	w.quiet = orderly + 40*second
	if w.profile.busy {
		w.at(calm, func() { w.ledger.look(nil, orderly/millisecond) })
		return orderly + 80*second
	}
	w.at(w.quiet, func() { w.noTicks = true; w.tracef("no more ticks") })
	if w.options.Queue || w.options.CatchUp > 3 { // runs follow each other, and each may take longer than a period
		return w.quiet + 120*second
	}
	return w.quiet + 40*second
}

// heal ends every disturbance.
func (w *World) heal() {
	w.tracef("calm")
	w.calm = true
	w.slow, w.static = 0, false
	if !w.profile.busy {
		w.slowJobs = min(w.slowJobs, 0.08)
	}
	for _, m := range w.members {
		if w.config.MaxTimeDiffSeconds >= 0 {
			m.offset, m.set = 0, w.now // with a wrong clock it would never begin anything
		}
		m.thaw()
		if w.profile.busy && m.st != nil && m.skew != m.offset {
			m.skew = m.offset // a session measures its clock each minute, and here the next tick may be as far away
			m.step(protocol.Measured{Skew: m.skew})
		}
		if m.s != nil && m.s.stalled > 0 {
			m.s.stall(0)
		}
		if m.s != nil {
			w.reinstate(m)
		}
		switch {
		case !m.up:
			if m.life != 0 && !m.retired { // otherwise its first start is still to come, or it is gone for good
				m.start()
			}
		case m.s != nil && !m.s.connected:
			w.reconnect(m, m.s)
		}
	}
	for _, s := range w.live {
		s.stray() // requests that went astray arrive now
	}
	if len(w.jvms) > 0 {
		w.config.MonitorExecution = true
		w.healJava()
		if !w.profile.busy {
			w.slowJobs = 0
			w.after(8*second, w.checkInstants)
		}
	} else {
		w.ban()
	}
	w.undo()
	// Requests that are on their way are carried out even now, so they are reverted, too.
	for k := int64(1); k <= 4; k++ {
		w.after(k*w.timeout/2, w.undo)
	}
}

// ban chooses a server that stays disabled, if others can do its work.
func (w *World) ban() {
	var ips []string
	for _, m := range w.members {
		if !m.retired && !slices.Contains(ips, m.ip) {
			ips = append(ips, m.ip)
		}
	}
	if len(ips) > 1 && !w.driver.on() && w.chance(0.3) {
		w.banned = ips[w.rng.IntN(len(ips))]
	}
}

// undo reverts what operators disabled, paused or switched, so that the job can work.
// Only the server that ban chose becomes, or stays, disabled.
func (w *World) undo() {
	v := w.ledger.v
	if v == nil {
		return
	}
	if v.Paused {
		w.tool(protocol.SetPaused{})
	}
	// Without it our members begin nothing beside members of ElasticJob.
	if len(w.jvms) > 0 && v.Config != nil && !v.Config.MonitorExecution {
		w.putConfig()
	}
	for i := range v.Items {
		if v := w.ledger.v; i < len(v.Items) && v.Items[i].Disabled {
			w.tool(protocol.DisableItem{Item: i})
		}
	}
	if w.three {
		w.restoreServers(v)
	}
	if w.switches && staticText(written(v.Definition.Config)) {
		w.putStatic(false)
	}
	for _, s := range v.Servers {
		// A server that keeps its items is paused. Without foreign members, the node of
		// a server that is gone for good stays as it is.
		if banned := s.IP == w.banned; s.KeepsItems || (len(w.jvms) > 0 || w.inUse(s.IP)) && s.Disabled != banned {
			w.tool(protocol.DisableServer{IP: s.IP, Disabled: banned})
		}
	}
}

// undoAnswered undoes what the member was asked for, again and again until nothing that it
// was asked for is without an answer: in some layouts a member waits with its requests until
// a dead member's address is free.
func (w *World) undoAnswered(m *member, every int64) {
	w.undo()
	if len(m.asked) > 0 {
		w.after(every, func() { w.undoAnswered(m, every) })
	}
}

// inUse reports whether the address belongs to a member of ours that is not retired.
func (w *World) inUse(ip string) bool {
	return slices.ContainsFunc(w.members, func(m *member) bool { return m.ip == ip && !m.retired })
}

// nextCommand lets operators work, one command after the other, until end.
func (w *World) nextCommand(end int64) {
	w.after(w.between(2*second, 6*second), func() {
		if w.now >= end {
			return
		}
		if v := w.ledger.v; v != nil && v.Config != nil && v.Parents.Assignment {
			w.command(v, end-w.now)
		}
		w.nextCommand(end)
	})
}

// command does something and reverts it a few seconds later. Commands with long effects
// are left out when little time is left.
func (w *World) command(v *protocol.View, left int64) {
	up := w.up()
	if len(up) == 0 {
		return
	}
	m := up[w.rng.IntN(len(up))]
	back := w.between(2500*millisecond, 6*second)
	switch w.rng.IntN(9) {
	case 8:
		if left < 13*second {
			return
		}
		w.ledger.killed = w.now
		m.crash()
		life := m.life
		w.after(back, func() {
			if m.life == life && !m.up {
				m.start()
			}
		})
	case 0:
		w.tool(protocol.SetPaused{Paused: !v.Paused})
		w.after(back, w.undo)
	case 1:
		w.request(m, protocol.AskItem{Item: w.rng.IntN(v.Config.Total), Disabled: true})
		w.after(back, func() { w.undoAnswered(m, back) })
	case 2:
		if len(v.Servers) > 1 && w.banned == "" {
			s := v.Servers[w.rng.IntN(len(v.Servers))]
			w.tool(protocol.DisableServer{IP: s.IP, Disabled: true})
			w.after(back, w.undo)
		}
	case 3, 4:
		w.request(m, protocol.AskConfig{Config: spelling.Text(w.newConfig()), Have: v.ConfigVersion})
	case 5:
		w.request(m, protocol.AskTrigger{})
	case 6:
		w.request(m, protocol.AskReshard{})
	case 7: // nothing happens
	}
}
