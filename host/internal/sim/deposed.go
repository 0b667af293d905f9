package sim

// A registry server that was replaced without noticing answers only what needs no majority.
// It reads from a tree that stands still, and holds every transaction, heartbeat and sync.
// To the other servers its sessions are silent.

// decide does what needs a majority: at once, or when the server has one again.
func (s *session) decide(do func()) {
	if s.alone {
		s.undecided = append(s.undecided, do)
		return
	}
	do()
}

// depose replaces the member's registry server. Neither the server nor the member notices.
func (w *World) depose(m *member) {
	if s := m.s; s.connected && s.alive && len(s.held) == 0 { // answers that wait for the replica must have gone out
		w.tracef("%s: its server is replaced and does not know", m.name())
		s.alone = true
	}
}

// reinstate makes the other servers follow the member's server again. Transactions that
// it holds are applied, unless the others have ended the session meanwhile.
func (w *World) reinstate(m *member) {
	s := m.s
	if !s.alone {
		return
	}
	w.tracef("%s: its server has a majority again", m.name())
	todo := s.undecided
	s.alone, s.undecided = false, nil
	if !s.alive {
		return
	}
	s.lastContact = w.now
	for _, do := range todo {
		do()
	}
}

// usurp injects the fault: a registry server is replaced for a while. Afterwards it leads
// again, or gives up and closes its connections.
func (w *World) usurp(m *member) {
	w.depose(m)
	life, s := m.life, m.s
	w.after(w.between(100*millisecond, 3*m.s.timeout), func() {
		switch {
		case m.life != life || m.s != s || !s.alone:
		case w.chance(0.5):
			w.reinstate(m)
		default:
			w.cut(m)
		}
	})
}

// lease checks that the member counts its session's time-out from no later moment than the
// registry does. If so, its guests have ended by the time at which the registry ends the session.
func (m *member) lease() {
	if m.st != nil && m.acked > m.s.lastContact {
		m.w.breach("lease", "%s counts its session from a moment %d ms after the service heard of it last", m.name(), (m.acked-m.s.lastContact)/millisecond)
	}
}
