package protocol

import "slices"

// What came due in the past came from the schedule that was in force then. The
// configuration says only which one that is now, so the newest ones are kept in
// the members' records and in the assignment. They travel with what is written
// anyway.

// Schedule is where the job's instants come from.
type Schedule struct {
	Since int64 // ms; 0: for as long as is known
	Cron  string
}

// keptSchedules is how many of the newest are kept. A gap that reaches back
// further is counted by the oldest of them.
const keptSchedules = 4

// seeSchedule notes by which schedules the job went, and since when it goes by
// another one.
func (s *State) seeSchedule() {
	c := s.config()
	if c == nil {
		return
	}
	s.schedules = joined(s.schedules, s.view.Assignment.Schedules)
	for k := range s.view.Runs {
		s.schedules = joined(s.schedules, s.view.Runs[k].Schedules)
	}
	switch n := len(s.schedules); {
	case n == 0:
		s.schedules = []Schedule{{Cron: c.Cron}}
	case s.schedules[n-1].Cron != c.Cron:
		s.schedules = joined(s.schedules, []Schedule{{max(s.now, s.schedules[n-1].Since), c.Cron}})
	}
}

// joined is what either of them knows. Who sees a change later than another
// says so, too: the first to see it counts.
func joined(a, b []Schedule) []Schedule {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Schedule) int { return int(min(max(x.Since-y.Since, -1), 1)) })
	all = slices.CompactFunc(all, func(x, y Schedule) bool { return x.Cron == y.Cron })
	return all[max(0, len(all)-keptSchedules):]
}

// total is how many items there are, and since when; 0: since before we came.
type total struct {
	items int
	since int64
}

func (s *State) seeTotal() {
	if c := s.config(); c != nil && c.Total != s.total.items {
		if s.total.items != 0 {
			s.total.since = s.now
		}
		s.total.items = c.Total
	}
}

// gap is a gap as rows: one for each schedule that was in force during it.
func (s *State) gap(r Row) []Row {
	r.Gap = true
	var rows []Row
	for k, sc := range s.schedules {
		part := r
		part.Cron = sc.Cron
		if k > 0 {
			part.After = max(r.After, sc.Since-1)
		}
		if k+1 < len(s.schedules) {
			part.Until = min(r.Until, s.schedules[k+1].Since)
		}
		if part.Cron != "" && part.Until-part.After > 1 {
			rows = append(rows, part)
		}
	}
	return rows
}
