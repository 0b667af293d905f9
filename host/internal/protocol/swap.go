package protocol

import "github.com/wasmjob/wasmjob/host/internal/backoff"

// The module of a job is switched while the job runs. A server or an operator names the
// next one in the module's node. Each member prepares it and reports that in its own
// node. When all are ready, the reclaimer replaces the old one. As long as a member
// cannot prepare it, the old one stays. A run keeps the module with which it began.

// Ready is a member's report about the next module.
type Ready struct {
	Digest string // of the module that this is about; "" none
	Fault  string // why the member cannot have it; "" it has it
}

// swap is this member's part in a switch.
type swap struct {
	wanted string // that Prepare named
	answer *Ready // nil: it is awaited
	retry  int64  // when it is tried again after a fault
	faults int    // in a row
}

// The pauses after faults, in ms: the first one is short, as another member may just be
// getting the module.
const (
	firstPause = 1_000
	lastPause  = 60_000
)

// prepare asks for the next module, once, and from time to time again after a fault.
func (s *State) prepare(p *Plan) {
	next := s.view.Next
	switch {
	case next == "" || s.self == "":
		s.swap = swap{}
	case next != s.swap.wanted:
		s.swap = swap{wanted: next}
		p.add(Prepare{Digest: next})
	case s.swap.retry != 0 && s.now >= s.swap.retry:
		s.swap.answer, s.swap.retry = nil, 0
		p.add(Prepare{Digest: next})
	}
}

func (s *State) prepared(in Prepared) {
	if in.Digest != s.swap.wanted {
		return // of an older one
	}
	if s.swap.answer = &in.Ready; in.Fault != "" {
		s.swap.faults++
		s.swap.retry = s.now + backoff.After[int64](firstPause, lastPause, s.swap.faults)
	}
}

// publish writes what the other members wait for: whether the next module is prepared
// here.
func publish(s *facts) Mutation {
	if s.self == "" || s.session.health != Trusted || s.swap.answer == nil || s.view.ready(s.self) == *s.swap.answer {
		return nil
	}
	return Publish{Member: Join{ID: s.self, Labels: s.o.Labels, Address: s.o.Address, Defines: s.o.Defines}, Ready: *s.swap.answer}
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

// ready is what a member has reported.
func (v *View) ready(id ID) Ready {
	for k := range v.Members {
		if v.Members[k].ID == id {
			return v.Members[k].Ready
		}
	}
	return Ready{}
}
