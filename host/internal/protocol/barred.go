package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// A server that must not run a job is not a member of it either: it would not run the
// items that it is assigned, and a foreign leader assigns items to every instance.
// Package admission decides why it must not.

// bar makes a member leave that must not run the job any more. Its runs end as usual. It
// joins again when it may.
func (s *State) bar(p *Plan) {
	if s.self == "" || !s.o.Barred || s.session.leaving {
		return
	}
	s.session.leaving, s.session.barred = true, true
	p.add(Note{Why: reason.Of(reason.LeavingUntilAllowed)})
}
