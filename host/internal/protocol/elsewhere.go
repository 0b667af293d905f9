package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Open are the runs that the member's record had open when it was last seen, and the
// schedules by which they came.
func (s *State) Open() ([]Entry, []Schedule) {
	if s.view == nil || s.own() == nil {
		return nil, nil
	}
	return slices.Clone(s.own().Open), s.schedule.known
}

// Elsewhere are rows, for this server's own history, of runs that its member by of an
// earlier session had open when that session ended, and that another member has
// reclaimed. That member has the last row of the attempt; these rows say that others
// continue. Beside foreign members, which keep no rows, there are none.
func (s *State) Elsewhere(by ID, runs []Entry) Store {
	v := s.view
	own := s.own()
	if len(runs) == 0 || own == nil || s.company.shared {
		return Store{}
	}
	has := map[attempt]bool{} // rows that this member has or will have
	for k := range v.Runs {
		d := &v.Runs[k]
		if d.ID != s.self && !v.dead(d.ID) {
			continue
		}
		for i := range d.Rows { // this member may have reclaimed them
			has[attemptOf(d.Rows[i].Entry)] = true
		}
		for _, r := range d.unfinished() { // it has not been reclaimed
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

// GoneElsewhere is the row, at a moment, of an attempt of by, whose session has ended.
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
