package sim

// What becomes of requests whose connection breaks, and what a member finds on
// the next one.

// afterwards carries out a request of a connection that is gone, or does not.
// Once the session has a new connection, ZooKeeper takes nothing from the old
// one: what is to happen has happened by then. With beyond it strays, and
// arrives at the worst moment: when the member, having looked and found it not
// done, has written something else. A registry need not be as strict as
// ZooKeeper, and the fence of a record does not lean on it.
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

// stray lets requests arrive that went astray on an old connection.
func (s *session) stray() {
	todo := s.strays
	s.strays = nil
	for _, do := range todo {
		s.w.after(s.w.between(0, 20*millisecond), do)
	}
}

// reconnected settles what was under way on the old connection. The server that
// the member finds shows at least what the member has seen, and lags like any.
func (s *session) reconnected() {
	todo := s.overdue
	s.overdue = nil
	for _, do := range todo {
		do()
	}
	s.connected, s.heard = true, s.w.now
	s.returns++
	s.toServer, s.toClient = s.w.now, s.w.now
	epoch := s.epoch
	s.w.after(s.w.lag(), func() {
		if s.epoch == epoch {
			s.advance(s.w.tree.Revision())
		}
	})
	if s.wrote > s.replica && s.w.chance(0.3) {
		// Just what the member must not overlook is not there yet.
		s.advance(s.wrote - 1)
		s.stall(s.w.between(5*millisecond, 300*millisecond))
		return
	}
	s.advance(s.replica + s.w.between(0, s.w.tree.Revision()-s.replica+1))
}
