package sim

// A server that was replaced and does not know it answers what it can answer
// alone: it reads from a tree that stands still, and holds every transaction,
// signs of life and syncs among them. For the others its sessions are silent.

// decide carries a transaction out, or lets it wait for a majority.
func (s *session) decide(do func()) {
	if s.alone {
		s.undecided = append(s.undecided, do)
		return
	}
	do()
}

// depose replaces the member's server, without a word to either.
func (w *World) depose(m *member) {
	if s := m.s; s.connected && s.alive && len(s.held) == 0 { // what it has carried out it also shows
		w.tracef("%s: its server is replaced and does not know", m.name())
		s.alone = true
	}
}

// reinstate lets the others follow the member's server again. What it holds is
// carried out, unless they have ended the session meanwhile.
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
	s.heard = w.now
	for _, do := range todo {
		do()
	}
}

// usurp is the fault: a server is replaced for a while. Then it is followed
// again, or gives up, which ends its connections.
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

// lease: the service counts a session's time-out from no earlier than the member
// does, so that the guests have ended when it is over.
func (m *member) lease() {
	if m.st != nil && m.acked > m.s.heard {
		m.w.breach("lease", "%s counts its session from a moment %d ms after the service heard of it last", m.name(), (m.acked-m.s.heard)/millisecond)
	}
}
