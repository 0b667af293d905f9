package protocol

import "slices"

// fulfilRequest writes the oldest request of an operator, unless the view shows it
// fulfilled. No view shows a trigger as fulfilled; only its commit ends it.
func fulfilRequest(s *facts) Mutation {
	if s.self == "" || s.session.health != Trusted {
		return nil
	}
	for _, a := range s.commits.asks {
		m, fault := Fulfil(s.view, a.Ask)
		if _, ok := a.Ask.(AskReshard); ok { // a strategy that failed is asked at once, too
			s.note(strategyRetried{})
		}
		if m != nil {
			return m
		}
		s.note(answered{a.ID, fault})
	}
	return nil
}

// Fulfil returns the mutation that fulfils an operator's request, none if the view shows it
// fulfilled, or a fault that says why it cannot be. The caller need not be a member.
func Fulfil(v *View, a Ask) (m Mutation, fault string) {
	switch a := a.(type) {
	case AskTrigger:
		if len(v.Instances) == 0 {
			return nil, "no server is registered that could run it"
		}
		var to []ID
		for _, in := range v.Instances {
			// A foreign member may have ignored the present request, but sees another
			// write.
			if in.Request == 0 || !v.member(in.ID) {
				to = append(to, in.ID)
			}
		}
		if len(to) > 0 {
			return RequestTrigger{To: to}, ""
		}
	case AskPause:
		if v.Paused != a.Paused || v.Pause.Until != a.Pause.Until || v.Pause.Why != a.Pause.Why {
			return SetPaused(a), ""
		}
	case AskItem:
		if !v.item(a.Item).Exists {
			return nil, "there is no such item"
		}
		if v.item(a.Item).Disabled != a.Disabled {
			return DisableItem(a), ""
		}
	case AskServer:
		if !v.hasServer(a.IP) {
			return nil, "there is no such server"
		}
		// A server that was only paused still has its items; disabling takes them.
		if s := v.server(a.IP); v.serverDisabled(a.IP) != a.Disabled || a.Disabled && s.KeepsItems {
			return DisableServer(a), ""
		}
	case AskConfig:
		if same(v.Definition.Config, a.Config) {
			return nil, ""
		}
		if v.ConfigVersion != a.Have {
			return nil, "the configuration was changed by somebody else meanwhile"
		}
		return PutConfig{Config: a.Config}, ""
	case AskDefine:
		return v.define(a)
	case AskReshard:
		if !v.Necessary {
			return MarkReshard{}, ""
		}
	case AskBackfill:
		return a.put(v)
	case AskCancelBackfill:
		return a.drop(v), ""
	case AskLeave: // handled as it comes
	}
	return nil, ""
}

// RefusedIfOld reports whether a request's transaction is refused if the view lacks a
// change that matters to the request. If so, even an old view may decide it. A trigger has
// to reach each owner of items, and its transaction checks that the items have not been
// assigned again. Without the seal it cannot check that while a foreign leader, or nobody,
// leads. A request that waits already, or a member that is gone, may have changed as well.
func RefusedIfOld(v *View, a Ask) bool {
	if _, ok := a.(AskTrigger); !ok || !v.Assignment.Exists || !v.Sealed && (v.Leader == "" || v.foreignLeads()) {
		return false
	}
	requested := func(in Instance) bool { return in.Request != 0 }
	away := func(id ID) bool { return v.instance(id) == nil }
	return !slices.ContainsFunc(v.Instances, requested) && !slices.ContainsFunc(v.Assignment.Members, away)
}

// askOf is the request that a mutation fulfils, by its ID; 0 if it fulfils none.
func (s *State) askOf(m Mutation) int64 {
	if len(s.commits.asks) == 0 {
		return 0
	}
	switch m.(type) {
	case MarkReshard: // the leader's own mark counts as well
		if _, ok := s.commits.asks[0].Ask.(AskReshard); ok {
			return s.commits.asks[0].ID
		}
	case RequestTrigger, SetPaused, DisableItem, DisableServer, PutConfig, Define, PutBackfill, DropBackfill:
		return s.commits.asks[0].ID
	default: // the member's own mutations
	}
	return 0
}

// answered: the request needs no mutation any more.
type answered struct {
	id    int64
	fault string
}

// keep answers the request.
func (a answered) keep(s *State, p *Plan) { s.reply(a.id, a.fault, p) }

// reply answers a request and forgets it. fault says why it was not fulfilled; "" if it was.
func (s *State) reply(id int64, fault string, p *Plan) {
	s.commits.asks = slices.DeleteFunc(s.commits.asks, func(a Asked) bool { return a.ID == id })
	p.add(Answer{ID: id, Fault: fault})
}
