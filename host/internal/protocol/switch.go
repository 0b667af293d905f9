package protocol

import "github.com/wasmjob/wasmjob/host/internal/backoff"

// The module of a job is switched while the job runs. A server or an operator names the
// next module in the module's node. Each member prepares it and reports that in its own
// node. When all are ready, the reclaimer replaces the old module. As long as a member
// cannot prepare the new one, the old one stays. A run keeps the module with which it
// began.

// Ready is a member's report about the next module.
type Ready struct {
	Digest string // of the module; "": none
	Fault  string // why the member cannot have the module; "": it has it
}

// switching is this member's part in a switch.
type switching struct {
	wanted string // digest of the last Prepare
	answer *Ready // nil: none yet
	retry  int64  // when the module is prepared again after a fault
	faults int    // faults in a row
}

// The pauses after faults, in ms. The first is short, since another member may be fetching
// the module just then.
const (
	firstPause = 1_000
	lastPause  = 60_000
)

// prepare asks for the next module once, and again some time after a fault. A next module
// that is replaced or withdrawn makes it begin anew.
func (s *State) prepare(p *Plan) {
	next := s.view.Next
	switch {
	case next == "" || s.self == "":
		s.switching = switching{}
	case next != s.switching.wanted:
		s.switching = switching{wanted: next}
		p.add(Prepare{Digest: next})
	case s.switching.retry != 0 && s.now >= s.switching.retry:
		s.switching.answer, s.switching.retry = nil, 0
		p.add(Prepare{Digest: next})
	}
}

// prepared notes whether this member has the next module now, for publish, and after a fault
// when prepare tries again.
func (s *State) prepared(in Prepared) {
	if in.Digest != s.switching.wanted {
		return // it answers an older Prepare
	}
	if s.switching.answer = &in.Ready; in.Fault != "" {
		s.switching.faults++
		s.switching.retry = s.now + backoff.After[int64](firstPause, lastPause, s.switching.faults)
	}
}

// publish writes what other members wait for: whether this member has prepared the next
// module.
func publish(s *facts) Mutation {
	if s.self == "" || s.session.health != Trusted || s.switching.answer == nil || s.view.ready(s.self) == *s.switching.answer {
		return nil
	}
	return Publish{Member: Join{ID: s.self, Labels: s.o.Labels, Address: s.o.Address, Defines: s.o.Defines}, Ready: *s.switching.answer}
}

// switchModule replaces the module by the next one when all members have prepared it.
// Only the reclaimer does it.
func switchModule(s *facts) Mutation {
	v := s.view
	if v.Next == "" || !s.company.reclaims || s.session.leaving || s.session.health != Trusted || s.config() == nil {
		return nil
	}
	for _, m := range v.Members {
		if m.Ready != (Ready{Digest: v.Next}) {
			return nil
		}
	}
	return Switch{Digest: v.Next}
}

// ready is what a member has reported about the next module; the zero value if nothing.
func (v *View) ready(id ID) Ready {
	for k := range v.Members {
		if v.Members[k].ID == id {
			return v.Members[k].Ready
		}
	}
	return Ready{}
}
