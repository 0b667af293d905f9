package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Open are the runs that the member's record had open when it was seen last, and the
// schedules under which they came about.
func (s *State) Open() ([]Entry, []Schedule) {
	if s.view == nil || s.own() == nil {
		return nil, nil
	}
	return slices.Clone(s.own().Open), s.schedule.known
}

// Elsewhere are rows, for this server's own history, of runs which an earlier life of
// it, by, had open when its session ended, and for which somebody else answers now. He
// has the last row of the attempt, so these say that others go on from there. Beside
// foreign members, who keep no rows, there are none.
func (s *State) Elsewhere(by ID, runs []Entry) Store {
	v := s.view
	own := s.own()
	if len(runs) == 0 || own == nil || s.company.shared {
		return Store{}
	}
	has := map[attempt]bool{} // this member has, or will have
	for k := range v.Runs {
		d := &v.Runs[k]
		if d.ID != s.self && !v.dead(d.ID) {
			continue
		}
		for i := range d.Rows { // this member may be who reclaims them
			has[attemptOf(d.Rows[i].Entry)] = true
		}
		for _, r := range d.unfinished() { // nobody has reclaimed it
			has[attemptOf(r.Entry)] = true
		}
	}
	for k := range v.Pending { // whoever takes it writes the row
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

// GoneElsewhere is the row of an attempt of by, whose session has ended, at a moment.
func GoneElsewhere(by ID, e Entry, now int64) Row {
	return Row{Entry: e, State: TakenOver, Why: reason.Of(reason.ServerGone), Ended: now, By: by}
}

// attempt is what tells one attempt from all others.
type attempt struct {
	item, number int
	instant      int64
	trigger      string
}

func attemptOf(e Entry) attempt { return attempt{e.Item, e.Attempt, e.Instant, e.Trigger} }
