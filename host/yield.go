package host

// bury ends a prospect that is dead.
func (p *prospect) bury() {
	p.hide()
	p.settle.Do(func() { close(p.settled) })
	if err := p.hangUp(); err != nil {
		p.s.h.o.Log.Debug("the end of the session closes the line of a job that is gone", "job", p.name, "error", err)
	}
	p.s.mu.Lock()
	p.patience.stop()
	delete(p.s.jobs, p.name)
	p.s.mu.Unlock()
	close(p.buried)
	p.s.stir() // it may have come back meanwhile
}

// yield has a job that was found leave this server, whose own file has it now. It
// returns when it has, or when the host ends.
func (s *scout) yield(name string) {
	s.mu.Lock()
	s.h.files[name] = true
	p := s.jobs[name]
	if p == nil {
		s.mu.Unlock()
		return
	}
	p.yields = true
	if p.withdraw != nil {
		p.withdraw()
	}
	s.mu.Unlock()
	p.stir()
	select {
	case <-p.buried:
	case <-s.ctx.Done():
	}
}
