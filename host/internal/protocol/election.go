package protocol

// elect makes the member the leader if there is none. While another member is in the queue,
// this one waits without queueing: afterwards there is a leader, or the queue is empty.
func elect(s *facts) Mutation {
	if !s.wantsLead() || s.removing() {
		return nil
	}
	place, first := s.place(ElectionLatch)
	switch {
	case first:
		return Elect{ID: s.self, Place: place}
	case len(s.view.ElectionLatch) == 0:
		return Contend{Latch: ElectionLatch, Token: s.o.Contender}
	}
	return nil
}

// wantsLead reports whether the job has no leader, and this member may become it. A member
// that cannot apply the job's strategy leaves the lead to foreign ones.
func (s *State) wantsLead() bool {
	return s.self != "" && !s.session.leaving && s.view.Leader == "" && s.view.instance(s.self) != nil && !s.disabledHere() && !s.strategyIsForeign()
}

// strategyIsForeign reports whether only members of ElasticJob have the strategy that the
// leader must ask.
func (s *State) strategyIsForeign() bool {
	c := s.config()
	return c != nil && s.company.shared && s.o.Knows != nil && !s.o.Knows(c.Strategy)
}

// abdicate gives up the lead if an operator has disabled the leader's server, if only
// foreign members have the strategy, or if the leader is about to leave, since its last runs
// may take long.
func abdicate(s *facts) Mutation {
	if !s.company.leads || s.view.LeaderOwner != s.o.Session || !s.disabledHere() && !s.session.leaving && !s.strategyIsForeign() || s.own() == nil {
		return nil
	}
	return Abdicate{Self: s.self, Own: s.next(s.own())}
}
