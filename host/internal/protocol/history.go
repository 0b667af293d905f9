package protocol

import "slices"

// history counts the rows of this member that the history was given, and has stored.
type history struct {
	handed int64 // rows up to here were given to the history
	stored int64 // rows up to here are durable there
}

// next copies the own record for its next write, without stored rows, and without instants
// and requests that the assignment has as well.
func (s *State) next(own *Runs) RunsData {
	n := RunsData{Open: slices.Clone(own.Open), Retries: slices.Clone(own.Retries), Triggers: slices.Clone(own.Triggers), Seq: own.Seq}
	n.Rows = slices.Clone(s.history.unstored(own))
	n.Last = newest(nil, own.Last, s.view.Assignment.Last)
	n.Requested = newest(nil, own.Requested, s.view.Assignment.Requested)
	n.Begun = newest(nil, own.Begun, s.view.Assignment.Begun)
	n.Ended = newest(nil, own.Ended, s.view.Assignment.Ended)
	n.Resumed = newest(nil, own.Resumed, s.view.Assignment.Resumed)
	n.Spans = slices.Clone(own.Spans)
	if t := max(own.Unattended, s.backlog.catchUp.empty); t > s.view.Assignment.Unattended {
		n.Unattended = t
	}
	n.Flow, n.Results, n.Schedules = own.Flow, own.Results, s.schedule.known
	n.Latest, n.Streaks, n.Tallies = own.Latest, s.streaksToKeep(own), own.Tallies
	return n
}

// unstored returns the rows of the record that the history has not stored yet.
func (h history) unstored(own *Runs) []Row {
	k := slices.IndexFunc(own.Rows, func(r Row) bool { return r.Seq > h.stored })
	if k < 0 {
		return nil
	}
	return own.Rows[k:]
}

// handRows passes rows to the history, each once.
func (s *State) handRows(own *Runs, p *Plan) {
	k := slices.IndexFunc(own.Rows, func(r Row) bool { return r.Seq > s.history.handed })
	if k < 0 {
		return
	}
	s.history.handed = own.Rows[len(own.Rows)-1].Seq
	p.add(Store{Rows: slices.Clone(own.Rows[k:]), Schedules: s.schedule.known})
}

// Owes reports whether the member's record, as last seen, has something that would be lost
// with it: an open run, a request, or a row that is not stored.
func (s *State) Owes() bool {
	if s.view == nil || s.own() == nil {
		return false
	}
	own := s.own()
	return len(own.Open)+len(own.Retries)+len(own.Triggers)+len(s.history.unstored(own)) > 0
}
