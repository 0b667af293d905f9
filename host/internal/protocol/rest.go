package protocol

import (
	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
)

// A removal in parts deletes the definition first. If it is interrupted, the rest belongs
// to no job, and its state, pauses and marks must not become part of the next job. So
// members leave it, and a server that defines the job deletes the rest before it creates
// the job.

// rest is the state of this member's deletion of a rest.
type rest struct {
	asked  bool   // an answer is outstanding
	fault  string // why the newest attempt failed; "": it did not
	faults int    // faults in a row
	retry  int64  // when it is attempted again; 0: at once
}

// RestDeleted answers DeleteRest.
type RestDeleted struct {
	Fault string // why something is left; "": nothing is
}

func (RestDeleted) input() {}

// DeleteRest deletes what an interrupted removal has left; answered by RestDeleted.
type DeleteRest struct{}

func (DeleteRest) effect() {}

// meetsRest reports whether this server defines the job, and the rest of a removed one is
// in the way.
func (s *State) meetsRest() bool {
	return s.view != nil && s.self == "" && s.view.Rest && s.view.ConfigFault == "" && s.o.Define.Config != nil && !s.session.leaving && !s.o.Barred
}

// deleteRest asks for the deletion once all members have left the rest, and again some time
// after a fault.
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

// restDeleted notes the result of the deletion. The next view shows what is left.
func (s *State) restDeleted(in RestDeleted) {
	r := &s.session.rest
	if r.asked, r.fault = false, in.Fault; in.Fault == "" {
		r.faults = 0
	} else {
		r.faults++
	}
	r.retry = s.now + backoff.After[int64](firstPause, lastPause, max(r.faults, 1))
}

// inRest is a member, ours or foreign, that has yet to leave the rest; "" if there is none.
func (s *State) inRest() ID {
	switch v := s.view; {
	case len(v.Instances) > 0:
		return v.Instances[0].ID
	case len(v.Members) > 0:
		return v.Members[0].ID
	}
	return ""
}

// restStays is why the rest is not deleted at once; none if it is.
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

// RestStays reports whether the job waits for the rest of a removed one, which may last.
func (s *State) RestStays() bool { return !s.restStays().None() }

// restRetry is when the deletion is attempted again; 0 if it is not.
func (s *State) restRetry() int64 {
	if s.session.rest.asked || !s.meetsRest() || s.inRest() != "" {
		return 0
	}
	return s.session.rest.retry
}

// leavesRest reports whether the member's job was removed, and the member has nothing left
// to do in it: nothing of it is open, and its rows are stored.
func (s *State) leavesRest() bool {
	own := s.own()
	return s.view.Rest && own != nil && len(own.Open)+len(s.guests.all)+len(s.history.unstored(own)) == 0
}
