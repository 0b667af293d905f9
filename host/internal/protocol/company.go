package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// company is what a view shows of the members together, as seen by this member. It is
// computed once for each view, so a rule asks one question and need not know about foreign
// members.
type company struct {
	shared       bool // a foreign member has a part in the job
	foreignLeads bool // the leader is foreign; it need not be registered yet
	unsettled    bool // the assignment of a foreign leader may be about to change, or to be adopted
	leads        bool // this member is the leader
	reclaims     bool // this member reclaims what dead members left
}

// seeCompany computes the company after a new view, and when the member has learned its own
// id.
func (s *State) seeCompany() {
	v := s.view
	c := company{shared: v.Shared(), foreignLeads: v.foreignLeads(), unsettled: v.assignmentUnsettled()}
	c.leads = s.self != "" && v.Leader == s.self
	c.reclaims = s.own() != nil && (c.leads || c.foreignLeads && len(v.Members) > 0 && v.Members[0].ID == s.self)
	s.company = c
}

// ours reports whether all members are ours: no foreign one shares the job or leads it.
func (c company) ours() bool { return !c.shared && !c.foreignLeads }

// works reports whether the member may begin runs.
func (s *State) works() bool { return s.able() && !s.disabledHere() }

// able reports whether the member may begin runs, apart from an operator's disabling of its
// server.
func (s *State) able() bool {
	return s.own() != nil && s.config() != nil && !s.session.leaving && s.session.health == Trusted &&
		s.view.instance(s.self) != nil && s.foreignBlocker() == "" && !s.skewed()
}

// foreignLeads reports whether a foreign member leads. Its instance may not be
// registered yet.
func (v *View) foreignLeads() bool { return v.Leader != "" && !v.member(v.Leader) }

// assignmentUnsettled reports whether the assignment of a foreign leader may be about to
// change, or to be adopted. The leader deletes nodes and creates them again, and new nodes
// look like old ones. So a begin in flight checks the seal: the leader deletes it when it
// assigns, and only an adoption creates it.
func (v *View) assignmentUnsettled() bool { return v.foreignLeads() && v.LeaderOwner != 0 && !v.Sealed }

// foreignBlocker is why this member must not run the job while foreign members share it; ""
// if it may, or if there are none. Members see each other's runs only by the marks that
// MonitorExecution asks for, and compute the same instants only in a time zone that the job
// names.
func (s *State) foreignBlocker() reason.Code {
	c := s.config()
	switch {
	case c == nil || !s.company.shared:
		return ""
	case s.view.ByAddress: // the nodes have no room for what foreign members must know of us
		return reason.ForeignByAddress
	case !c.MonitorExecution:
		return reason.ForeignUnmonitored
	case s.o.Zoneless:
		return reason.ForeignZoneless
	}
	return ""
}
