package protocol

// elect takes the lead when nobody has it. Whoever creates the node first
// wins; the others see it and are content.
func elect(s *State, _ *Plan) Mutation {
	if s.self == "" || s.leaving || s.view.Leader != "" || s.view.instance(s.self) == nil || s.disabledHere() {
		return nil
	}
	return Elect{ID: s.self}
}

// abdicate gives the lead up when an operator disabled the leader's server, and
// when the leader is about to leave: its last runs may take long.
func abdicate(s *State, _ *Plan) Mutation {
	if !s.leads() || s.view.LeaderOwner != s.o.Session || !s.disabledHere() && !s.leaving || s.own() == nil {
		return nil
	}
	return Abdicate{Self: s.self, Own: s.next(s.own())}
}
