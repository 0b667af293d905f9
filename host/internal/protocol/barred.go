package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// A server that must not run a job is not a member of it either: a member would not run the
// items that it is assigned, and a foreign leader assigns items to every instance. Package
// admission decides which servers must not run a job.

// bar makes the member leave when it must no longer run the job. Its runs end as usual. It
// joins again when it may.
func (s *State) bar(p *Plan) {
	if s.self == "" || !s.o.Barred || s.session.leaving {
		return
	}
	s.session.leaving, s.session.barred = true, true
	p.add(Note{Why: reason.Of(reason.LeavingUntilAllowed)})
}
