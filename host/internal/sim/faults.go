package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// faults says how often each disturbance comes, in parts of the whole.
type faults struct {
	every                             int64 // mean time between two
	crash, freeze, cut, operator, ask float64
}

// disturb schedules faults until the calm.
func (w *World) disturb() {
	on := func(p float64) float64 {
		if w.chance(0.75) {
			return p
		}
		return 0
	}
	w.faults = faults{every: w.between(700, 9000) * millisecond, crash: on(1), freeze: on(1), cut: on(2), operator: on(1.2), ask: on(1.2)}
	if w.chance(0.05) {
		w.faults = faults{every: second}
	}
	w.nextFault()
}

func (w *World) nextFault() {
	w.after(w.between(w.faults.every/10, 2*w.faults.every), func() {
		if w.calm {
			return
		}
		w.fault()
		w.nextFault()
	})
}

func (w *World) fault() {
	f := w.faults
	x := w.rng.Float64() * (f.crash + f.freeze + f.cut + f.operator + f.ask)
	up := w.up()
	if len(up) == 0 {
		return
	}
	m := up[w.rng.IntN(len(up))]
	switch {
	case x < f.crash:
		m.crash()
		life := m.life
		w.after(w.between(100*millisecond, 25*second), func() {
			if !m.up && m.life == life {
				if w.chance(0.5) {
					m.pid++ // another process id; else the same one again
				}
				m.start()
			}
		})
	case x < f.crash+f.freeze:
		m.freeze()
		w.after(w.between(50*millisecond, 2*w.timeout), m.thaw)
	case x < f.crash+f.freeze+f.cut:
		w.cut(m)
	case x < f.crash+f.freeze+f.cut+f.operator:
		w.operate()
	default:
		w.ask(m)
	}
}

// cut breaks the member's connection for a while. The member notices later,
// perhaps only after its session is long over.
func (w *World) cut(m *member) {
	s := m.s
	if !s.connected {
		return
	}
	w.tracef("%s: connection breaks", m.name())
	s.epoch++
	s.connected = false
	clear(s.armed)
	life, epoch := m.life, s.epoch
	detect := w.between(millisecond, w.timeout)
	if w.chance(0.5) {
		detect = w.between(millisecond, 100*millisecond)
	}
	w.after(detect, func() {
		if s.epoch == epoch {
			m.guard(life, m.suspended)
		}
	})
	heal := detect + w.between(millisecond, w.timeout)
	if w.chance(0.5) {
		heal = detect + w.between(millisecond, 200*millisecond)
	}
	w.after(heal, func() { w.reconnect(m, s) })
}

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
	s.connected, s.heard = true, w.now
	s.toServer, s.toClient = w.now, w.now
	s.advance(s.replica + w.between(0, w.tree.Revision()-s.replica+1))
	w.after(w.delay(), func() {
		if s.connected {
			m.guard(life, m.resumed)
		}
	})
}

// operate is an operator with a tool of ElasticJob, writing on his own.
func (w *World) operate() {
	v := w.ledger.v
	if v == nil || v.Config == nil || !v.Dirs.Wasm {
		return
	}
	switch w.rng.IntN(8) {
	case 7:
		if len(v.Servers) > 0 {
			w.tool(protocol.PruneServers{IPs: []string{v.Servers[w.rng.IntN(len(v.Servers))].IP}})
		}
	case 0:
		w.tool(protocol.SetPaused{Paused: !v.Paused})
	case 1:
		if i := w.rng.IntN(v.Config.Total); i < len(v.Items) && v.Items[i].Exists {
			w.tool(protocol.DisableItem{Item: i, Disabled: !v.Items[i].Disabled})
		}
	case 2:
		if len(v.Servers) > 0 {
			s := v.Servers[w.rng.IntN(len(v.Servers))]
			w.tool(protocol.DisableServer{IP: s.IP, Disabled: !s.Disabled})
		}
	case 3:
		if !v.Necessary {
			w.tool(protocol.MarkReshard{})
		}
	case 4:
		for _, in := range v.Instances {
			if w.chance(0.7) {
				w.tool(protocol.RequestTrigger{To: []protocol.ID{in.ID}})
			}
		}
	case 5:
		if len(v.Instances) > 1 {
			in := v.Instances[w.rng.IntN(len(v.Instances))]
			w.apply(nil, []registry.Op{{Kind: registry.Delete, Path: w.job.Instance(in.ID), Version: registry.AnyVersion}}, author{what: "tool removes instance " + string(in.ID)})
		}
	case 6:
		if data := w.newConfig(); data != nil {
			w.tool(protocol.PutConfig{Data: data})
		}
	}
}

// ask has a member carry out an operator's wish.
func (w *World) ask(m *member) {
	v := w.ledger.v
	if v == nil || v.Config == nil || m.st == nil {
		return
	}
	var a protocol.Ask
	switch w.rng.IntN(8) {
	case 0:
		a = protocol.AskTrigger{}
	case 1:
		a = protocol.AskPause{Paused: !v.Paused}
	case 2:
		a = protocol.AskItem{Item: w.rng.IntN(v.Config.Total), Disabled: w.chance(0.5)}
	case 3:
		a = protocol.AskServer{IP: m.ip, Disabled: w.chance(0.5)}
	case 4:
		if data := w.newConfig(); data != nil {
			a = protocol.AskConfig{Data: data, Have: v.ConfigVersion}
		}
	case 5:
		a = protocol.AskReshard{}
	case 6:
		a = protocol.AskPause{}
	case 7:
		a = protocol.AskLeave{}
	}
	if a == nil {
		return
	}
	w.asks++
	id := w.asks
	w.tracef("%s: asked %d %T%+v", m.name(), id, a, a)
	m.guard(m.life, func() { m.step(protocol.Asked{ID: id, Ask: a}) })
}

// newConfig changes one thing of the configuration.
func (w *World) newConfig() []byte {
	c := w.config
	switch w.rng.IntN(5) {
	case 0:
		c.ShardingTotalCount = int32(w.between(1, 9))
	case 1:
		c.Cron = cronOf(w.between(2, 9))
	case 2:
		c.Failover = !c.Failover
	case 3:
		c.Misfire = !c.Misfire
	case 4:
		c.MonitorExecution = !c.MonitorExecution
	}
	w.config = c
	data, err := layout.EncodeConfig21(c)
	if err != nil {
		panic(err) // the simulation's own settings
	}
	return data
}
