package protocol

import "slices"

// Step handles one input and returns what to do. now is the member's clock in Unix
// milliseconds, and may jump. Ends of waits, times in rows and the instants of triggers
// come from it; everything else only as far as it agrees with the registry's clock. Rules
// decide only on a settled view, when no commit is in flight; then guests and listeners
// follow the view first.
func Step(s *State, now int64, in Input) Plan {
	s.now = now
	var p Plan
	s.receive(in, &p)
	if s.session.lost || s.session.ended {
		return p
	}
	s.goByClocks(&p)
	if _, ended := in.(Finished); ended && s.lingersUntil() != 0 {
		s.sleep(&p) // many of these come at once, and none allows a new decision
		return p
	}
	if s.settled() {
		s.observe(&p)
		if s.session.ended {
			return p
		}
		if s.view.RecordFault != "" { // nothing is decided on a record that cannot be read
			if s.meetsRest() { // which is to be deleted
				s.sleep(&p)
			}
			return p
		}
		s.act(&p)
		s.listen(&p)
		s.timers.held = 0
		s.decide(&p)
	}
	s.sleep(&p)
	return p
}

// receive puts the input into the State. What follows from it, rules decide later.
func (s *State) receive(in Input, p *Plan) {
	switch in := in.(type) {
	case Observed:
		s.view, s.commits.awaitsView, s.commits.readOnly = in.View, false, false
		s.seeCompany()
	case Tick:
		s.schedule.dated, s.schedule.next = true, in.Next
		s.arrive(in)
	case Passed:
		s.schedule.next = in.Next
		s.seePassed(in.At)
	case Preceded:
		s.preceded(in)
	case Recalled:
		s.backlog.catchUp.awaited, s.backlog.catchUp.instants = false, in.Instants
	case Committed:
		s.committed(in, p)
	case Finished:
		for _, e := range in {
			s.finished(e)
		}
	case CallEnded:
		s.listener.ended(in)
	case Assigned:
		// The answer to an older question must not replace that to a newer one.
		if s.reshard.asked != nil && s.reshard.asked.equal(in.Request) {
			s.answered(in, p)
		}
	case Stored:
		s.history.stored = max(s.history.stored, in.Upto)
	case Doubted:
		s.doubted(in.Level, p)
	case ReadOnly:
		s.unwritable()
	case Measured:
		s.clock.skew = in.Skew
	case Asked:
		if _, ok := in.Ask.(AskLeave); ok {
			s.session.leaving, s.session.barred = true, false
			return
		}
		s.commits.asks = append(s.commits.asks, in)
	case Unasked:
		s.commits.asks = slices.DeleteFunc(s.commits.asks, func(a Asked) bool { return a.ID == in.ID })
	case Prepared:
		s.prepared(in)
	case RestDeleted:
		s.restDeleted(in)
	case Configured:
		s.configured(in)
	case Elapsed:
		s.timers.wake = 0
	case SessionLost:
		s.loseSession(p)
	}
}
