package protocol

// resharding is what this member knows of the reshard that is under way, and
// what it does for it.
type resharding struct {
	since     int64 // when it was seen first; 0: there is none
	waitFrom  int64 // since when an instant or a request waits for it; 0: none does
	waitAsked int64 // the newest request that waits, by the revision that wrote it

	asked     *AssignRequest // the question to the strategy
	answer    *Assigned      // nil: it is awaited
	retry     int64          // when a strategy that failed is asked again
	parts     *parts         // a reshard of ours whose nodes are not all written
	ownerless ownerless      // the nodes that restore writes next
	occupied  []occupied

	wishedFor []ID // the members when this one last asked a foreign leader to assign anew
	wishes    int  // how often it has asked for these, in a row
}

// waits: a due run waits for the reshard that somebody asked for, but not
// longer than the bound: then the member begins what it still owns, and the
// epoch refuses it if that has changed.
func (s *State) waits() bool {
	return s.reshard.since != 0 && s.now < s.waitsUntil() && !s.assignsAtNextInstant()
}

// noteReshardWait notes since when something is due that waits for a deal: an instant,
// or a request, which has a leader of ElasticJob run, and so deal, at once.
func (s *State) noteReshardWait() {
	asked := int64(0)
	if s.triggered() {
		asked = s.view.instance(s.self).Modified
	}
	if s.reshard.since != 0 && (s.reshard.waitFrom == 0 && s.schedule.tick.At != 0 || asked > s.reshard.waitAsked) {
		s.reshard.waitFrom, s.reshard.waitAsked = s.now, asked
	}
}

// waitsUntil is when that ends. A leader of ElasticJob deals when an instant
// or a request comes, not before.
func (s *State) waitsUntil() int64 {
	since := s.reshard.since
	if s.company.foreignLeads {
		since = max(since, s.reshard.waitFrom)
	}
	return since + s.o.ReshardWait
}
