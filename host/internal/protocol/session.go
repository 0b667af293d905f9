package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// session is the state of the membership. It lasts at most as long as the registry session.
type session struct {
	health  Doubt
	lost    bool
	leaving bool
	barred  bool // leaving until it may join again
	ended   bool // Stop was given

	ownersDeleted  int   // items below this one no longer name the member as owner, unless they were assigned since
	nodesGoneSince int64 // when a parent of the job's nodes was first missing; 0: all are there
	rest           rest
}

// silenced notes why a due instant may pass while the registry is in doubt or takes no
// writes. While a commit is in flight, no rule would note it.
func (s *State) silenced() {
	switch {
	case s.view == nil:
	case s.session.health != Trusted:
		s.backlog.excuseAll(s, reason.RegistrySilent)
	case s.commits.readOnly:
		s.backlog.excuseAll(s, reason.RegistryReadOnly)
	}
}

// unwritable notes that the registry takes no writes.
func (s *State) unwritable() {
	s.commits.readOnly = true
	s.silenced()
}

// loseSession ends all guests, since the session is over.
func (s *State) loseSession(p *Plan) {
	s.session.lost = true
	s.listener.cut(p)
	for _, g := range s.guests.all {
		if !g.ended {
			p.add(Cancel{Item: g.Item, Hard: true, Why: reason.Of(reason.SessionOver)})
		}
	}
}

// doubted fences the member itself: long before the registry gives its items to others,
// nothing starts here any more, and guests are asked to stop, then ended. With Finish the job
// lets its guests go on.
func (s *State) doubted(level Doubt, p *Plan) {
	s.session.health = level
	s.silenced()
	if level == Expired {
		s.listener.cut(p) // the next leader makes the call again
	}
	if level == Trusted || s.o.Finish {
		return
	}
	for k := range s.guests.all {
		g := &s.guests.all[k]
		if g.ended {
			continue
		}
		fenced := g.fenced || g.why.None() // not if it was asked to stop for another reason; cancel resets fenced
		s.cancel(g.Item, level == Expired, reason.SessionDoubtful, p)
		g.fenced = fenced
	}
}
