package protocol

import (
	"cmp"
	"slices"
)

// Operators see how the newest run of a job ended, and which item fails again and again, on
// any member. Records and assignment hold both; the newest entry of each item counts. Items
// that do not fail have none.

// MaxStreaks bounds the items with a streak in one record. If there are more, the longest
// streaks are kept; no rule uses them.
const MaxStreaks = 64

// maxFailures is the highest count of a streak.
const maxFailures = 999_999

// Streak is how often an item failed in a row, up to its newest run, which ended at At. A
// count of zero is kept only where otherwise an older count would be shown.
type Streak struct {
	Item     int
	Failures int
	At       int64
}

// Latest is the run that ended last.
type Latest struct {
	At    int64 // 0: unknown
	State RowState
}

// add keeps the newer of two runs.
func (l *Latest) add(o Latest) {
	if o.At > l.At {
		*l = o
	}
}

// closes appends a row to the record d and, if it ends a run, updates the record's latest
// run, streak and tally.
func (s *State) closes(d *RunsData, r Row) {
	if streak, changed := s.streak(d, &r); changed {
		d.Streaks = withStreak(d.Streaks, streak)
	}
	if final(&r) {
		d.Latest.add(Latest{r.Ended, r.State})
	}
	s.tally(d, &r)
	d.row(r)
}

// final reports whether the run had begun, and no other attempt follows. A skipped run had
// not begun.
func final(r *Row) bool {
	return !r.Gap && slices.Contains([]RowState{Succeeded, Failed, TimedOut, Cancelled, Interrupted, Lost}, r.State)
}

// streak returns the new streak of a row's item; false if there is no need to keep it. A
// run that was skipped or cancelled is neither a failure nor a success.
func (s *State) streak(d *RunsData, r *Row) (Streak, bool) {
	if r.Gap {
		return Streak{}, false
	}
	before := newerStreak(s.view.streakOf(r.Item, nil), streakIn(d.Streaks, r.Item))
	is := Streak{Item: r.Item, At: max(r.Ended, before.At+1)} // clocks differ
	switch r.State {                                          //nolint:exhaustive // the other states do not blame the code
	case Succeeded:
		return is, before.Failures > 0
	case Failed, TimedOut, Interrupted, Lost:
		is.Failures = min(before.Failures+1, maxFailures)
		return is, true
	}
	return is, false
}

// streak adds the weight of one more streak.
func (w *weight) streak() { w.streaks = min(w.streaks+1, MaxStreaks) }

// streakOf is the newest streak of an item in the assignment and in all records except but.
func (v *View) streakOf(item int, but *Runs) Streak {
	x := streakIn(v.Assignment.Streaks, item)
	for k := range v.Runs {
		if but == nil || v.Runs[k].ID != but.ID {
			x = newerStreak(x, streakIn(v.Runs[k].Streaks, item))
		}
	}
	return x
}

// streaksToKeep returns the streaks that a record must keep.
func (s *State) streaksToKeep(own *Runs) []Streak {
	var all []Streak
	for _, x := range own.Streaks {
		others := s.view.streakOf(x.Item, own)
		if others.At < x.At && (x.Failures > 0 || others.Failures > 0) { // a count of 0 is kept only to replace an older one
			all = append(all, x)
		}
	}
	return all
}

// streakIn is the item's streak in a list; one without failures if it has none.
func streakIn(all []Streak, item int) Streak {
	if k, ok := slices.BinarySearchFunc(all, item, func(x Streak, i int) int { return x.Item - i }); ok {
		return all[k]
	}
	return Streak{Item: item}
}

// newerStreak is the streak with the later newest run.
func newerStreak(a, b Streak) Streak {
	if b.At > a.At {
		return b
	}
	return a
}

// withStreak returns a copy of a list, ascending by item, in which one streak is set.
func withStreak(all []Streak, x Streak) []Streak {
	return foldStreaks(all, []Streak{x})
}

// foldStreaks merges two lists; the newest streak of each item counts. Of too many, the
// longest stay.
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

// LatestRun returns the run of the job that ended last, and the longest streak; the zero
// value if nothing fails.
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
