package protocol

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Other jobs may run after a job: once for each of its instants at which every item has
// ended well. If there are such jobs, records and assignment tally how the newest instants
// ended. Counts only grow, and the transactions that end runs keep them, so no death of a
// member loses one, and all readers decide alike.

// MaxTallies is how many of the newest instants a record tallies.
const MaxTallies = 32

// Tally counts the items whose scheduled run of an instant has ended: Well is how many
// ended well, Of how many items the job had.
type Tally struct {
	Instant  int64
	Well, Of int
}

// withTallies returns the sum of two lists of tallies, ascending by instant, and leaves both
// as they are.
func withTallies(all, more []Tally) []Tally {
	if len(more) == 0 {
		return all
	}
	return summed(slices.Concat(all, more))
}

// summed adds up tallies of the same instant, in place, and keeps the newest MaxTallies.
func summed(all []Tally) []Tally {
	slices.SortStableFunc(all, func(a, b Tally) int { return cmp.Compare(a.Instant, b.Instant) })
	sums := all[:0]
	for _, t := range all {
		if n := len(sums); n > 0 && sums[n-1].Instant == t.Instant {
			sums[n-1].Well, sums[n-1].Of = sums[n-1].Well+t.Well, max(sums[n-1].Of, t.Of)
			continue
		}
		sums = append(sums, t)
	}
	return sums[max(0, len(sums)-MaxTallies):]
}

// tally counts a row if it ends a scheduled run. A run that had nothing to do ended well.
func (s *State) tally(d *RunsData, r *Row) {
	if !s.view.Fires.Followed || r.Trigger != "" || r.Gap {
		return
	}
	idle := r.State == Skipped && r.Begun != 0 // its guest found nothing to do
	if !final(r) && !idle {
		return
	}
	t := Tally{Instant: r.Instant, Of: s.view.Assignment.Total}
	if idle || r.State == Succeeded {
		t.Well = 1
	}
	d.Tallies = withTallies(d.Tallies, []Tally{t})
}

// Good reports whether every item has ended well.
func (t Tally) Good() bool { return t.Of > 0 && t.Well >= t.Of }

// tallies sums up, for the newest instants of which runs have ended, what the assignment and
// all records have counted. A full list has forgotten what it counted of instants before its
// first, so these are left out.
func (v *View) tallies() []Tally {
	var all []Tally
	from := int64(0)
	read := func(counts []Tally) {
		if all = append(all, counts...); len(counts) == MaxTallies {
			from = max(from, counts[0].Instant)
		}
	}
	read(v.Assignment.Tallies)
	for k := range v.Runs {
		read(v.Runs[k].Tallies)
	}
	return slices.DeleteFunc(summed(all), func(t Tally) bool { return t.Instant < from })
}

// Ending is the outcome of an instant.
type Ending struct {
	Tally
	Open bool // some item may still end well
}

// Endings returns the newest instants of which runs have ended, ascending. One is open while
// every item may still end it well.
func (v *View) Endings() []Ending {
	var ends []Ending
	for _, t := range v.tallies() {
		ends = append(ends, Ending{t, !t.Good() && !v.over(t.Instant)})
	}
	return ends
}

// over reports whether every item is accounted for at the instant, and no scheduled run of
// it or of an earlier one goes on or waits.
func (v *View) over(at int64) bool {
	for i := range v.total() {
		if v.last(i) < at {
			return false
		}
	}
	return v.ended(at)
}

// ended reports whether no scheduled run of the instant, or of an earlier one, is open,
// pending, or waits for a retry.
func (v *View) ended(at int64) bool {
	for k := range v.Runs {
		for _, e := range v.Runs[k].unfinished() {
			if e.Trigger == "" && e.Instant <= at {
				return false
			}
		}
	}
	for _, p := range v.Pending {
		if !p.Foreign && p.Entry.Trigger == "" && p.Entry.Instant <= at {
			return false
		}
	}
	return true
}

// GoodIn returns the instants at which every item of every job has ended well, ascending;
// none without jobs. At these a job begins that runs after all of them.
func GoodIn(jobs []*View) []int64 {
	var all []int64
	for k, v := range jobs {
		var good []int64
		for _, t := range v.tallies() {
			if t.Good() && (k == 0 || slices.Contains(all, t.Instant)) {
				good = append(good, t.Instant)
			}
		}
		all = good
	}
	return all
}

// Hinders is why jobs that run after this one do not run, or did not for its newest instant
// that is over; none if they do. name is this job's.
func (v *View) Hinders(name string) (why reason.Reason) {
	switch {
	case v.ConfigFault != "":
		return reason.Of(reason.AfterUnread, strconv.Quote(name), v.ConfigFault)
	case v.Config == nil:
		return reason.Of(reason.AfterGone, strconv.Quote(name))
	case v.Shared():
		return reason.Of(reason.AfterShared, strconv.Quote(name))
	}
	for _, e := range v.Endings() { // the newest last; one that is still open decides nothing
		switch {
		case e.Good():
			why = reason.Reason{}
		case !e.Open:
			why = NotWell(name, e)
		}
	}
	return why
}

// NotWell is the reason that an instant of a job has ended, and not well.
func NotWell(name string, e Ending) reason.Reason {
	at := time.UnixMilli(e.Instant).UTC().Format(time.RFC3339)
	return reason.Of(reason.AfterFailed, strconv.Quote(name), at, strconv.Itoa(e.Well), strconv.Itoa(e.Of))
}
