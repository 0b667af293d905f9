package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Members of ElasticJob come and go among ours.

// neighbours creates the processes of ElasticJob. Some have the address of a member of
// ours.
func (w *World) neighbours() {
	ips := []string{"10.0.0.10", "10.0.0.1", "10.0.1.1", "10.0.1.1", "10.0.1.2"}
	for k := range int(w.between(w.profile.java[0], w.profile.java[1])) {
		j := &jvm{w: w, label: string(rune('P' + k)), ip: ips[w.rng.IntN(len(ips))], pid: 100 * (k + 1), timeout: max(w.timeout/[]int64{1, 1, 2}[w.rng.IntN(3)], second)}
		w.jvms = append(w.jvms, j)
		w.after(w.between(0, 3*second), j.start)
	}
}

// upJava returns the processes of ElasticJob that are up and were not asked to end.
func (w *World) upJava() []*jvm {
	return slices.DeleteFunc(slices.Clone(w.jvms), func(j *jvm) bool { return !j.up || j.leaving })
}

// vex disturbs a process of ElasticJob, and lets it come back.
func (w *World) vex() {
	up := w.upJava()
	if len(up) == 0 {
		return
	}
	j := up[w.rng.IntN(len(up))]
	switch w.rng.IntN(6) {
	case 0:
		j.terminate()
		w.comeBack(j, w.profile.restart*millisecond)
	case 1:
		w.killJava(j, w.profile.restart*millisecond)
	case 2:
		w.freezeJava(j, w.between(50*millisecond, 2*j.timeout))
	case 3:
		j.cut(w.between(5*millisecond, 2*j.timeout))
	default: // its session stays, and it registers again
		j.cut(w.between(5*millisecond, j.timeout/2))
	}
}

// killJava kills a process, which comes back within that time.
func (w *World) killJava(j *jvm, within int64) {
	w.tracef("%s: is killed", j.name())
	j.exit()
	w.comeBack(j, within)
}

// comeBack starts a process again some time after it has ended.
func (w *World) comeBack(j *jvm, within int64) {
	life := j.life
	w.after(w.between(100*millisecond, within), func() {
		switch {
		case j.life != life || j.retired:
		case j.up:
			w.comeBack(j, within)
		default:
			j.start()
		}
	})
}

// freezeJava stops a process for a while. When it thaws, its client has lost the
// connection.
func (w *World) freezeJava(j *jvm, d int64) {
	j.freeze()
	life := j.life
	w.after(d, func() { w.thawJava(j, life, d > j.timeout/2) })
}

// thawJava lets a frozen process go on, unless it was restarted meanwhile.
func (w *World) thawJava(j *jvm, life int, reconnects bool) {
	if j.life != life || !j.frozen {
		return
	}
	j.thaw()
	if reconnects && j.up && j.s.alive {
		j.cut(w.between(millisecond, 20*millisecond))
	}
}

// heldLatch is called when a process has its turn in a latch. Some freeze just then.
func (w *World) heldLatch(j *jvm) {
	if !w.calm && w.chance(w.profile.races) {
		w.after(1, func() {
			if j.up && !j.frozen {
				w.freezeJava(j, w.between(100*millisecond, 2*j.timeout))
			}
		})
	}
}

// healJava ends the disturbances of these processes.
func (w *World) healJava() {
	for _, j := range w.jvms {
		w.thawJava(j, j.life, true)
		switch {
		case j.up && (j.shut || j.stuck):
			j.exit()
			j.start()
		case j.up && !j.s.connected:
			j.reconnect(j.s)
		case !j.up && j.life > 0 && !j.retired:
			j.start()
		}
	}
}

// restoreServers creates nodes of servers again that an operator has removed. Members of
// 3.0.4 take a server without a node for disabled.
func (w *World) restoreServers(v *protocol.View) {
	for _, in := range v.Instances {
		ip := in.ID.IP()
		if v := w.ledger.v; !slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {
			w.tool(protocol.SetServer{IP: ip})
		}
	}
}

// revive restarts a process whose job has ended or which blocks a queue, as an operator
// would when disturbances are over. ElasticJob ends the job for good if it learns late,
// after a reconnect, that its instance went with the former session; it then registers, and
// never runs.
func (w *World) revive(j *jvm) {
	life := j.life
	w.after(second, func() {
		if w.calm && j.up && j.life == life && (j.shut || j.stuck) && !j.leaving {
			j.exit()
			j.start()
		}
	})
}

// nextMove lets members join and leave, one after the other, until end. In some jobs
// those of ElasticJob are gone for good by then.
func (w *World) nextMove(end int64) {
	w.after(w.between(5*second, 9*second), func() {
		if w.now >= end {
			if w.profile.away {
				w.ledger.killed = w.now
				for _, j := range w.upJava() {
					j.retired = true
					j.terminate()
				}
			}
			return
		}
		w.move()
		w.nextMove(end)
	})
}

// move lets one member, ours or foreign, leave or die and come back, or an operator
// command something.
func (w *World) move() {
	w.ledger.killed = w.now
	java, ours := w.upJava(), w.up()
	back := w.between(100*millisecond, 4*second)
	switch k := w.rng.IntN(6); {
	case k == 0 && len(java) > 0:
		j := java[w.rng.IntN(len(java))]
		j.terminate()
		w.comeBack(j, back)
	case k == 1 && len(java) > 0:
		w.killJava(java[w.rng.IntN(len(java))], back)
	case k == 2 && len(ours) > 0:
		m := ours[w.rng.IntN(len(ours))]
		m.crash()
		life := m.life
		w.after(back, func() {
			if m.life == life && !m.up {
				m.start()
			}
		})
	case k == 3 && len(ours) > 0:
		w.request(ours[w.rng.IntN(len(ours))], protocol.AskLeave{})
	default:
		if v := w.ledger.v; v != nil && v.Config != nil && v.Parents.Assignment {
			w.command(v, 0) // no command with a long effect
		}
	}
}

// meddle makes a foreign member come, go, or register again.
func (w *World) meddle() {
	for _, j := range w.jvms {
		if !j.up && j.life > 0 && !j.retired {
			j.start()
			return
		}
	}
	if up := w.upJava(); len(up) > 0 {
		up[w.rng.IntN(len(up))].cut(w.between(5*millisecond, 300*millisecond))
	}
}
