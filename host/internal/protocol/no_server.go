package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// NoServer records the missed instants of a job that no server runs, and the runs that its
// last server left. It is for a registry inside a server that is alone: that server knows
// that no other one begins them.
type NoServer struct {
	Now int64
	By  ID // named in the rows; not a member of the job
	// Removed: the job is about to be removed, so no server comes to run it.
	Removed bool
}

// Record returns the mutation that writes the rows to the registry, from where they go to
// the history; false if a server is there, which records by itself.
func (u NoServer) Record(v *View) (RecordMissed, bool) {
	if !v.WithoutServer() {
		return RecordMissed{}, false
	}
	s := &State{view: v, now: u.Now}
	s.seeSchedule()
	own := &Runs{ID: u.By, RunsData: &RunsData{}}
	if len(v.Runs) > 0 {
		own = &v.Runs[0] // a dead member's record
	}
	m := RecordMissed{ID: own.ID, Own: s.next(own)}
	if u.Removed {
		m.Own.rows(u.left(v))
		m.Own.Open, m.Own.Retries, m.Own.Triggers = nil, nil, nil
	}
	for i := range v.total() {
		last := v.last(i)
		if last == 0 || last >= u.Now {
			continue
		}
		r := Row{Entry: Entry{Item: i, Instant: u.Now}, After: last, Until: u.Now + 1, State: Missed, Why: u.why(v, i), By: u.By}
		m.Own.rows(s.schedule.gap(r))
		m.Own.Last = set(m.Own.Last, i, u.Now)
	}
	return m, true
}

// WithoutServer reports whether the job has no member and its nodes are readable.
func (v *View) WithoutServer() bool {
	return len(v.Instances)+len(v.Members) == 0 && v.Config != nil && v.Assignment.Exists && v.RecordFault == ""
}

// why is why no server began the item's missed instants.
func (u NoServer) why(v *View, i int) reason.Reason {
	switch {
	case v.PausedAt(u.Now):
		return v.Pause.Reason()
	case v.item(i).Disabled:
		return reason.Of(reason.ItemDisabled)
	case u.Removed:
		return reason.Of(reason.NotBegunJobRemoved)
	}
	return reason.Of(reason.NotBegunNoFile)
}

// left returns the rows of all open, waiting and pending runs of a job that is about to be
// removed, so that none will run again. A foreign member's pending node has no run in it.
func (u NoServer) left(v *View) []Row {
	var rows []Row
	ends := func(e Entry, why reason.Code, by ID) {
		rows = append(rows, Row{Entry: e, State: Interrupted, Why: reason.Of(why), Ended: u.Now, By: by})
	}
	for k := range v.Runs {
		d := &v.Runs[k]
		for _, r := range d.unfinished() {
			ends(r.Entry, reason.ServerGoneJobRemoved, d.ID)
		}
		for _, t := range d.Triggers {
			for _, i := range t.Items {
				ends(Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1}, reason.ServerGoneBeforeBegin, d.ID)
			}
		}
	}
	for _, p := range v.Pending {
		why := reason.ServerGoneJobRemoved
		if p.Dead == "" { // a retry whose member left in order
			why = reason.NotBegunJobRemoved
		}
		if !p.Foreign {
			ends(p.Entry, why, p.Dead)
		}
	}
	return rows
}

// Stored returns the write of a dead member's record without its rows. The caller calls it
// once the history has them. It returns false if there are none, or the member is not dead.
func (v *View) Stored(id ID) (Forget, bool) {
	d := v.runs(id)
	if d == nil || !v.dead(id) || len(d.Rows) == 0 {
		return Forget{}, false
	}
	own := *d.RunsData
	own.Rows = slices.Clone(own.Rows[:0])
	return Forget{Self: id, Own: own}, true
}
