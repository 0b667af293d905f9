package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Open returns the runs that the member's record last had open, and the schedules that
// their instants came from.
func (s *State) Open() ([]Entry, []Schedule) {
	if s.view == nil || s.own() == nil {
		return nil, nil
	}
	return slices.Clone(s.own().Open), s.schedule.known
}

// Elsewhere returns rows for this server's own history. They are of runs that were open
// when the session of by, this server's member at that time, ended, and that another member
// has reclaimed. That member has the last row of the attempt; these rows say that the run
// continues elsewhere. Beside foreign members, which keep no rows, there are none.
func (s *State) Elsewhere(by ID, runs []Entry) Store {
	v := s.view
	own := s.own()
	if len(runs) == 0 || own == nil || s.company.shared {
		return Store{}
	}
	has := map[attempt]bool{} // attempts of which this member has a row or will have one
	for k := range v.Runs {
		d := &v.Runs[k]
		if d.ID != s.self && !v.dead(d.ID) {
			continue
		}
		for i := range d.Rows { // this member may have reclaimed the run
			has[attemptOf(d.Rows[i].Entry)] = true
		}
		for _, r := range d.unfinished() { // the record has not been reclaimed
			has[attemptOf(r.Entry)] = true
		}
	}
	for k := range v.Pending { // the taker writes the row
		has[attemptOf(v.Pending[k].Entry)] = true
	}
	store := Store{Schedules: s.schedule.known}
	for _, e := range runs {
		if !has[attemptOf(e)] {
			store.Rows = append(store.Rows, GoneElsewhere(by, e, s.now))
		}
	}
	return store
}

// GoneElsewhere returns the row, written at now, of an attempt of by, whose session has
// ended.
func GoneElsewhere(by ID, e Entry, now int64) Row {
	return Row{Entry: e, State: TakenOver, Why: reason.Of(reason.ServerGone), Ended: now, By: by}
}

// attempt identifies an attempt.
type attempt struct {
	item, number int
	instant      int64
	trigger      string
}

func attemptOf(e Entry) attempt { return attempt{e.Item, e.Attempt, e.Instant, e.Trigger} }
