package protocol

import (
	"cmp"
	"slices"
)

// Operators see how the newest run of a job ended, and which item fails time after time,
// whichever members ran it. Records and assignment carry both; for each item the newest
// entry counts. Items that do not fail have none.

// MaxStreaks bounds the items of which failures are counted, in one record. Of more the
// longest streaks are kept: nothing is decided by them.
const MaxStreaks = 64

// maxFailures is as far as they are counted.
const maxFailures = 999_999

// Streak is how often an item failed in a row, by the end of its newest run at At. A
// count of none is kept only where an older count would show otherwise.
type Streak struct {
	Item     int
	Failures int
	At       int64
}

// Latest is the run that ended last.
type Latest struct {
	At    int64 // 0: none is known
	State RowState
}

func (l *Latest) add(o Latest) {
	if o.At > l.At {
		*l = o
	}
}

// closes appends a row and, if it ends a run, counts how that ended.
func (s *State) closes(d *RunsData, r Row) {
	if streak, changed := s.streak(d, &r); changed {
		d.Streaks = withStreak(d.Streaks, streak)
	}
	if final(&r) {
		d.Latest.add(Latest{r.Ended, r.State})
	}
	d.row(r)
}

// final: it ran, and no other attempt follows. What was skipped never ran.
func final(r *Row) bool {
	return !r.Gap && slices.Contains([]RowState{Succeeded, Failed, TimedOut, Cancelled, Interrupted, Lost}, r.State)
}

// streak is what a row makes of its item's; false if there is nothing to be told. What
// was skipped or cancelled fails nothing, and mends nothing.
func (s *State) streak(d *RunsData, r *Row) (Streak, bool) {
	if r.Gap {
		return Streak{}, false
	}
	before := newerStreak(s.view.streakOf(r.Item, nil), streakIn(d.Streaks, r.Item))
	is := Streak{Item: r.Item, At: max(r.Ended, before.At+1)} // clocks differ
	switch r.State {                                          //nolint:exhaustive // the others say nothing of the code
	case Succeeded:
		return is, before.Failures > 0
	case Failed, TimedOut, Interrupted, Lost:
		is.Failures = min(before.Failures+1, maxFailures)
		return is, true
	}
	return is, false
}

// streak makes room for one more.
func (w *weight) streak() { w.streaks = min(w.streaks+1, MaxStreaks) }

// streakOf is the newest word of all about an item, but for that of a member.
func (v *View) streakOf(item int, but *Runs) Streak {
	x := streakIn(v.Assignment.Streaks, item)
	for k := range v.Runs {
		if but == nil || v.Runs[k].ID != but.ID {
			x = newerStreak(x, streakIn(v.Runs[k].Streaks, item))
		}
	}
	return x
}

// streaksToKeep are the streaks of a record that it has to go on telling.
func (s *State) streaksToKeep(own *Runs) []Streak {
	var all []Streak
	for _, x := range own.Streaks {
		others := s.view.streakOf(x.Item, own)
		if others.At < x.At && (x.Failures > 0 || others.Failures > 0) {
			all = append(all, x)
		}
	}
	return all
}

func streakIn(all []Streak, item int) Streak {
	if k, ok := slices.BinarySearchFunc(all, item, func(x Streak, i int) int { return x.Item - i }); ok {
		return all[k]
	}
	return Streak{Item: item}
}

func newerStreak(a, b Streak) Streak {
	if b.At > a.At {
		return b
	}
	return a
}

// withStreak sets one of the list, which is ascending by item; the list that it is given
// stays as it is.
func withStreak(all []Streak, x Streak) []Streak {
	return foldStreaks(all, []Streak{x})
}

// foldStreaks keeps the newest of each item.
func foldStreaks(all, more []Streak) []Streak {
	if len(more) == 0 {
		return all
	}
	both := slices.Concat(all, more)
	slices.SortFunc(both, func(a, b Streak) int { return cmp.Or(a.Item-b.Item, -cmp.Compare(a.At, b.At)) })
	both = slices.CompactFunc(both, func(a, b Streak) bool { return a.Item == b.Item })
	if len(both) > MaxStreaks {
		slices.SortFunc(both, func(a, b Streak) int { return cmp.Or(b.Failures-a.Failures, -cmp.Compare(a.At, b.At), a.Item-b.Item) })
		both = both[:MaxStreaks]
		slices.SortFunc(both, func(a, b Streak) int { return a.Item - b.Item })
	}
	return both
}

// LatestRun is the run of the job that ended last, and the item that failed most often
// in a row; without failures none did.
func (v *View) LatestRun() (run Latest, longest Streak) {
	run, all := v.Assignment.Latest, v.Assignment.Streaks
	for k := range v.Runs {
		run.add(v.Runs[k].Latest)
		all = foldStreaks(all, v.Runs[k].Streaks)
	}
	for _, x := range all {
		if gone := v.Config != nil && x.Item >= v.Config.Total; !gone && x.Failures > longest.Failures {
			longest = x
		}
	}
	return run, longest
}
