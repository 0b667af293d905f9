package protocol

// In layout 1, members of ElasticJob report at each interval how many elements of a
// dataflow they have handled in it.

// counts is what this member has reported in this way.
type counts struct {
	at   int64 // time of the last report, or when counting began
	flow Flow  // the record's count at that time
}

// keep makes c the last report.
func (c counts) keep(s *State, _ *Plan) { s.timers.counts = c }

// count reports how many elements the runs of this member have handled in an interval.
func count(s *facts) Mutation {
	own, c := s.own(), s.config()
	if own == nil || c == nil || c.CountEvery == 0 || s.session.leaving || s.session.health != Trusted {
		return nil
	}
	last := s.timers.counts
	if last.at == 0 { // counting begins
		last = counts{s.now, own.Flow}
		s.note(last)
	}
	if until := last.at + c.CountEvery; s.now < until {
		s.hold(until)
		return nil
	}
	return Count{Self: s.self, Handled: Flow{own.Flow.Succeeded - last.flow.Succeeded, own.Flow.Failed - last.flow.Failed}}
}
