package protocol

// resharding is what this member knows of the requested reshard, and its part in it.
type resharding struct {
	since     int64 // when the mark was first seen; 0: there is none
	stray     int64 // when processing was first seen without the mark; 0: it is not there alone
	waitFrom  int64 // when an instant or a request began to wait; 0: none waits
	waitAsked int64 // the newest request that waits, by the revision that wrote it

	asked     *AssignRequest // the question to the strategy without an answer
	answer    *Assigned      // the strategy's answer; nil: none yet
	failures  int            // failures of the strategy in a row
	retry     int64          // when a strategy that failed is asked again
	parts     *parts         // a reshard of ours with nodes still to be written
	ownerless ownerless      // the nodes that restore is to write
	occupied  []occupied

	requestedFor []ID // the members for which this one last asked a foreign leader to assign again
	requests     int  // how often it has asked for these members, in a row
}

// waits reports whether a due run still waits for the reshard; from is when it began to wait.
// After a bounded time, the member begins what it owns, and the epoch refuses that if the
// assignment has changed.
func (s *State) waits(from int64) bool {
	return s.reshard.since != 0 && s.now < s.waitsUntil(from) && !s.assignsAtNextInstant()
}

// reshardWait is when the wait for a reshard began, and the newest request that waits.
type reshardWait struct{ from, asked int64 }

// keep notes the wait.
func (w reshardWait) keep(s *State, _ *Plan) {
	s.reshard.waitFrom, s.reshard.waitAsked = w.from, w.asked
}

// reshardWait begins a wait if an instant is due or a newer request has come, and otherwise
// returns the present one. Each request begins a wait of its own: a foreign leader runs it at
// once, and assigns before that.
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

// waitsUntil is when a wait that began at from ends. A foreign leader assigns only when an
// instant or a request comes, so under such a leader it counts from that.
func (s *State) waitsUntil(from int64) int64 {
	since := s.reshard.since
	if s.company.foreignLeads {
		since = max(since, from)
	}
	return since + s.o.ReshardWait
}
