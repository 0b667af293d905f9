package protocol

// wakeAtLeast, in ms, is the shortest pause between two wakes for a wait that is over but
// has not ended.
const wakeAtLeast = 100

// sleep asks to be woken when the first wait ends, once for each moment: exactly then if a
// rule holds or ends linger. Other waits may be over without ending, so wakes for them have
// a pause in between.
func (s *State) sleep(p *Plan) {
	next := s.alarm()
	exact := s.timers.held
	if exact <= s.now {
		exact = 0
	}
	if exact = sooner(exact, s.lingersUntil()); exact != 0 && sooner(exact, next) == exact {
		if exact != s.timers.wake {
			s.timers.wake = exact
			p.add(Wake{At: exact})
		}
		return
	}
	if next != 0 && next != s.timers.wake {
		s.timers.wake = next
		p.add(Wake{At: max(next, s.now+wakeAtLeast)})
	}
}

// alarm is when the first wait ends, apart from those that rules hold; 0 if there is none.
func (s *State) alarm() int64 {
	next := sooner(sooner(s.nextRetry(), s.switching.retry), s.restRetry())
	next = sooner(sooner(next, s.removalOver()), s.leadReportDue())
	next = sooner(next, s.pauseOver())
	if s.clock.early.At != 0 { // then the registry's clock is near it
		next = sooner(next, s.clock.early.At-s.tolerance()+s.clock.skew)
	}
	if s.waits(s.reshard.waitFrom) && (s.schedule.tick.At != 0 || s.triggered() || s.retryDue()) {
		next = sooner(next, s.waitsUntil(s.reshard.waitFrom))
	}
	if s.reshard.answer != nil && s.reshard.answer.Fault != "" && s.company.leads && s.reshard.since != 0 {
		next = sooner(next, s.reshard.retry)
	}
	if len(s.absent) > 0 && s.o.PruneAfter > 0 && s.company.leads {
		next = sooner(next, s.absent[0].since+s.o.PruneAfter)
	}
	if c := s.config(); c != nil && c.ReconcileEvery > 0 && s.self != "" {
		next = sooner(next, s.timers.reread+c.ReconcileEvery)
	}
	return next
}
