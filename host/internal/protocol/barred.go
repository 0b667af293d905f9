package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// Who must not run a job is not a member of it either: what it is dealt it would
// miss, and a leader of ElasticJob deals to every instance. Why it must not is
// for others to say; they have read more than this package does.

// bar lets a member leave that must not be one any more. What it runs ends as
// usual; it joins again when it may.
func (s *State) bar(p *Plan) {
	if s.self == "" || !s.o.Barred || s.session.leaving {
		return
	}
	s.session.leaving, s.session.barred = true, true
	p.add(Note{Why: reason.Of(reason.LeavingUntilAllowed)})
}
