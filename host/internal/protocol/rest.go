package protocol

import (
	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
)

// A removal in parts deletes the definition first. If it is cut off, the rest belongs to no
// job: its state, pauses and marks must not become those of the next one. So members leave
// it, and a server that defines the job deletes the rest before it makes the job.

// rest is how far this member is with the deletion.
type rest struct {
	asked  bool   // the answer is awaited
	fault  string // why the newest try failed; "": it did not
	faults int    // in a row
	retry  int64  // when it is tried again; 0: at once
}

// RestDeleted answers DeleteRest.
type RestDeleted struct {
	Fault string // why something is left; "": nothing is
}

func (RestDeleted) input() {}

// DeleteRest deletes what a removal that was cut off has left. Answered by RestDeleted.
type DeleteRest struct{}

func (DeleteRest) effect() {}

// meetsRest: this server defines the job, and the rest of the one before is in its way.
func (s *State) meetsRest() bool {
	return s.view != nil && s.self == "" && s.view.Rest && s.view.ConfigFault == "" && s.o.Define.Config != nil && !s.session.leaving && !s.o.Barred
}

// deleteRest asks for the deletion once nobody is there any more, and after a fault again
// from time to time.
func (s *State) deleteRest(p *Plan) {
	switch {
	case s.session.rest.asked:
	case !s.meetsRest():
		s.session.rest = rest{}
	case s.inRest() == "" && s.now >= s.session.rest.retry:
		if s.session.rest.retry == 0 {
			p.add(Note{Why: reason.Of(reason.RestDeleted)})
		}
		s.session.rest.asked = true
		p.add(DeleteRest{})
	}
}

// restDeleted notes how the deletion ended. The next view shows what is left.
func (s *State) restDeleted(in RestDeleted) {
	r := &s.session.rest
	if r.asked, r.fault = false, in.Fault; in.Fault == "" {
		r.faults = 0
	} else {
		r.faults++
	}
	r.retry = s.now + backoff.After[int64](firstPause, lastPause, max(r.faults, 1))
}

// inRest is a member that has yet to leave the rest; "": there is none.
func (s *State) inRest() ID {
	switch v := s.view; {
	case len(v.Instances) > 0:
		return v.Instances[0].ID
	case len(v.Members) > 0:
		return v.Members[0].ID
	}
	return ""
}

// restStays is why the rest is still there, if it does not go at once.
func (s *State) restStays() reason.Reason {
	switch {
	case !s.meetsRest():
		return reason.Reason{}
	case s.inRest() != "":
		return reason.Of(reason.RestHasMember, string(s.inRest()))
	case s.session.rest.fault != "":
		return reason.Of(reason.RestStays, s.session.rest.fault)
	}
	return reason.Reason{}
}

// RestStays reports whether the job waits for the rest of the one before, which may last.
func (s *State) RestStays() bool { return !s.restStays().None() }

// restRetry is when the deletion is tried again; 0: it is not.
func (s *State) restRetry() int64 {
	if s.session.rest.asked || !s.meetsRest() || s.inRest() != "" {
		return 0
	}
	return s.session.rest.retry
}

// leavesRest: the member's job was removed, and the member has nothing left to do in it.
func (s *State) leavesRest() bool {
	own := s.own()
	return s.view.Rest && own != nil && len(own.Open)+len(s.guests.all)+len(s.history.unstored(own)) == 0
}
