package protocol

// elect makes the member leader if nobody leads. While somebody is in the queue,
// the others let that one go first, and do not queue behind it: when it has gone,
// there is a leader, or nobody is in the queue.
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

func (s *State) wantsLead() bool {
	return s.self != "" && !s.session.leaving && s.view.Leader == "" && s.view.instance(s.self) != nil && !s.disabledHere() && !s.strategyIsForeign()
}

// strategyIsForeign: the leader would have to ask a strategy that only ElasticJob's
// members have.
func (s *State) strategyIsForeign() bool {
	c := s.config()
	return c != nil && s.company.shared && s.o.Knows != nil && !s.o.Knows(c.Strategy)
}

// abdicate gives the lead up when an operator disabled the leader's server, when
// the leader is about to leave, as its last runs may take long, and when others
// know the strategy.
func abdicate(s *facts) Mutation {
	if !s.company.leads || s.view.LeaderOwner != s.o.Session || !s.disabledHere() && !s.session.leaving && !s.strategyIsForeign() || s.own() == nil {
		return nil
	}
	return Abdicate{Self: s.self, Own: s.next(s.own())}
}
