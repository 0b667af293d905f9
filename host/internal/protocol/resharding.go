package protocol

// resharding is what this member knows of the reshard that is asked for, and its part in
// it.
type resharding struct {
	since     int64 // when it was seen first; 0: there is none
	waitFrom  int64 // when an instant or a request began to wait for it; 0: none does
	waitAsked int64 // the newest request that waits, by the revision that wrote it

	asked     *AssignRequest // the question to the strategy
	answer    *Assigned      // nil: it is awaited
	failures  int            // of the strategy, in a row
	retry     int64          // when a strategy that failed is asked again
	parts     *parts         // a reshard of ours whose nodes are not all written
	ownerless ownerless      // the nodes that restore writes next
	occupied  []occupied

	requestedFor []ID // the members for which this one last asked a foreign leader to assign anew
	requests     int  // how often it has asked for these, in a row
}

// waits: a due run waits for the reshard, for a bounded time. After that the member
// begins what it still owns, and the epoch refuses it if that has changed.
func (s *State) waits(from int64) bool {
	return s.reshard.since != 0 && s.now < s.waitsUntil(from) && !s.assignsAtNextInstant()
}

// reshardWait is when the wait for a reshard began, and the newest request that waits.
type reshardWait struct{ from, asked int64 }

func (w reshardWait) keep(s *State, _ *Plan) {
	s.reshard.waitFrom, s.reshard.waitAsked = w.from, w.asked
}

// reshardWait begins a wait if an instant is due, or a request has come: a foreign
// leader runs a request at once, and assigns before that.
func (s *State) reshardWait() reshardWait {
	asked := int64(0)
	if s.triggered() {
		asked = s.view.instance(s.self).Request
	}
	if s.reshard.since != 0 && (s.reshard.waitFrom == 0 && s.schedule.tick.At != 0 || asked > s.reshard.waitAsked) {
		return reshardWait{s.now, asked}
	}
	return reshardWait{s.reshard.waitFrom, s.reshard.waitAsked}
}

// waitsUntil is when a wait ends that began at from. A foreign leader assigns only when
// an instant or a request comes.
func (s *State) waitsUntil(from int64) int64 {
	since := s.reshard.since
	if s.company.foreignLeads {
		since = max(since, from)
	}
	return since + s.o.ReshardWait
}
