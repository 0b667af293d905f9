package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// injectFault injects a fault at the worst moment: just as a member sends a transaction.
// Frequent transactions are hit less often than rare ones.
func (w *World) injectFault(m *member, mu protocol.Mutation) {
	p := w.profile.injects
	switch mu.(type) {
	case protocol.Begin, protocol.Complete, protocol.Forget:
		p /= 10 // these are frequent
	default:
	}
	if w.calm || !w.chance(p) {
		return
	}
	switch w.rng.IntN(7) {
	case 0, 1:
		w.slowLine(m, w.between(10*millisecond, m.s.timeout/2))
	case 2:
		d := w.between(0, 4*millisecond)
		switch w.rng.IntN(3) {
		case 0: // the connection breaks with the answer on its way
			m.s.deafen = func() { w.laterIn(m, 0, func() { w.cut(m) }) }
			return
		case 1: // the connection breaks with the transaction on its way
			w.slowLine(m, 10*d)
			d = w.between(0, 10*d)
		}
		w.laterIn(m, d, func() { w.cut(m) })
	case 3:
		w.laterIn(m, w.between(0, 4*millisecond), func() { w.crash(m) })
	case 4:
		w.laterIn(m, w.between(0, 4*millisecond), func() { w.freeze(m) })
	case 5:
		others := slices.DeleteFunc(w.up(), func(o *member) bool { return o == m || !o.s.connected })
		for _, o := range others {
			if w.chance(0.6) {
				w.stall(o)
			}
		}
	case 6:
		w.interfere(m, mu)
	}
}

// hold pauses the job for a while when a reclaim has made runs pending. So nothing takes
// them while the items move, the next instant comes, or the item is disabled.
func (w *World) hold(m protocol.Reclaim) {
	if w.calm || len(m.Pend) == 0 || !w.chance(w.profile.holds) {
		return
	}
	d := w.between(100*millisecond, 2*second)
	if w.chance(0.6) {
		d = w.untilTick(nil) - w.between(-5*millisecond, 20*millisecond)
	}
	w.after(1, func() {
		if !w.ledger.v.Paused {
			w.tool(protocol.SetPaused{Paused: true})
		}
	})
	w.after(max(d, millisecond), func() {
		v, i := w.ledger.v, m.Pend[0].Item
		if !w.calm && i < len(v.Items) && v.Items[i].Exists && !v.Items[i].Disabled && w.chance(0.2) {
			w.tool(protocol.DisableItem{Item: i, Disabled: true})
		}
		if v.Paused {
			w.tool(protocol.SetPaused{})
		}
	})
}

// laterIn calls do after d, if the member still has the same life.
func (w *World) laterIn(m *member, d int64, do func()) {
	life := m.life
	w.after(d, func() {
		if m.life == life && m.up && m.st != nil && !w.calm {
			do()
		}
	})
}

// interfere lets an operator write the same nodes before the member does.
func (w *World) interfere(m *member, mu protocol.Mutation) {
	v := w.ledger.v
	switch mu := mu.(type) {
	case protocol.PruneServers:
		for _, s := range v.Servers {
			if slices.Contains(mu.IPs, s.IP) && !s.Disabled {
				w.tool(protocol.DisableServer{IP: s.IP, Disabled: true})
			}
		}
	case protocol.PutConfig, protocol.Define:
		w.tool(protocol.PutConfig{Config: spelling.Text(w.newConfig())})
	case protocol.Begin, protocol.Take:
		w.tool(protocol.SetPaused{Paused: !v.Paused})
	case protocol.Reclaim:
		w.slowLine(m, w.between(5*millisecond, m.s.timeout/3))
		if o := w.up()[w.rng.IntN(len(w.up()))]; o != m {
			w.request(o, protocol.AskLeave{})
		}
	case protocol.Reshard:
		if len(v.Servers) > 0 && w.chance(0.5) {
			s := v.Servers[w.rng.IntN(len(v.Servers))]
			w.tool(protocol.DisableServer{IP: s.IP, Disabled: !s.Disabled})
		}
	default:
	}
}
