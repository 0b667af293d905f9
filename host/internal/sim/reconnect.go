package sim

// Requests whose connection breaks, and the state in which a member reconnects.

// afterwards decides whether a request of a broken connection is still applied. Once the
// session has a new connection, ZooKeeper accepts nothing from the old one, so the request
// is applied before that or never. With beyond it goes astray and arrives at the worst
// moment: after the member has looked, found no effect, and written something else. The
// fence of a record must hold even then, since other registries may be less strict than
// ZooKeeper.
func (s *session) afterwards(late func(), beyond bool) {
	done := false
	once := func() {
		if !done && s.alive {
			done = true
			late()
		}
	}
	if beyond {
		s.strays = append(s.strays, once)
		return
	}
	s.overdue = append(s.overdue, func() {
		if s.w.chance(0.5) {
			once()
		}
		done = true
	})
	s.w.after(s.w.between(0, s.timeout), once)
}

// stray applies requests that went astray on an old connection.
func (s *session) stray() {
	todo := s.strays
	s.strays = nil
	for _, do := range todo {
		s.w.after(s.w.between(0, 20*millisecond), do)
	}
}

// reconnected decides on the requests of the old connection. The new connection's server
// shows at least what the member has seen, and lags like any other.
func (s *session) reconnected() {
	todo := s.overdue
	s.overdue = nil
	for _, do := range todo {
		do()
	}
	s.connected, s.lastContact = true, s.w.now
	s.returns++
	s.toServer, s.toClient = s.w.now, s.w.now
	epoch := s.epoch
	s.w.after(s.w.lag(), func() {
		if s.epoch == epoch {
			s.advance(s.w.tree.Revision())
		}
	})
	if s.wrote > s.replica && s.w.chance(0.3) {
		// The member's own newest change is not there yet.
		s.arrive(s.wrote - 1)
		s.stall(s.w.between(5*millisecond, 300*millisecond))
		return
	}
	s.arrive(s.replica + s.w.between(0, s.w.tree.Revision()-s.replica+1))
}

// arrive makes the session see what the server of its new connection shows.
func (s *session) arrive(rev int64) {
	s.deaf = s.persistent
	s.advance(rev)
	s.deaf = false
}
