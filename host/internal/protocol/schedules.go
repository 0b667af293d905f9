package protocol

import (
	"cmp"
	"slices"
)

// Past instants came from the schedule that was in force then. The configuration has only
// the present one, so the newest schedules are kept in the members' records and in the
// assignment. Other writes carry them.

// Schedule is a cron that the job followed, and when it came into force.
type Schedule struct {
	Rev   int64 // a registry revision at which it was in force
	Since int64 // ms; seen in force then, and no earlier schedule was seen later
	Cron  string
}

// schedule is what this member knows of the instants of the job.
type schedule struct {
	cron   *string    // the cron that the clock was set to; nil: none yet
	unread bool       // that cron cannot be read
	known  []Schedule // the newest last; empty before the first configuration
	total  total

	tick    Tick    // the due instant; At 0: none
	latest  Tick    // the newest instant that came due
	next    int64   // the instant after that, as in Tick
	dated   bool    // the schedule has reported its newest instant, or that there is none
	paused  int64   // the newest instant that came during a pause
	ends    int64   // when the pause ends that this member has seen; 0: it has no end, or was reported as over
	follows bool    // the job runs after others
	good    []int64 // instants at which the others have ended well, ascending

	unseen int64 // the newest instant that came before this server, until a later one comes; 0: none
}

// tickAnswered: every own item has begun the due instant, or has an excuse.
type tickAnswered struct{}

// keep ends the due instant.
func (tickAnswered) keep(s *State, _ *Plan) { s.schedule.tick = Tick{} }

// keptSchedules is how many of the newest schedules are kept. The oldest of them counts for
// gaps that reach back further.
const keptSchedules = 4

// seeSchedule notes the schedules that the job has followed, and when each came into
// force.
func (s *State) seeSchedule() {
	c := s.config()
	if c == nil {
		return
	}
	since := s.now
	if len(s.schedule.known) == 0 { // it may have changed before this server came
		since = min(s.now, s.view.ConfigModifiedAt)
	}
	s.schedule.known = joined(s.schedule.known, s.view.Assignment.Schedules)
	for k := range s.view.Runs {
		s.schedule.known = joined(s.schedule.known, s.view.Runs[k].Schedules)
	}
	switch n, cron := len(s.schedule.known), s.inForce(c); {
	case n == 0: // no member has followed a schedule before
		s.schedule.known = []Schedule{{s.view.ConfigModified, s.now, cron}}
	case s.schedule.known[n-1].Cron != cron: // it has changed
		s.schedule.known = joined(s.schedule.known, []Schedule{{max(s.view.ConfigModified, s.schedule.known[n-1].Rev), since, cron}})
	}
}

// joined merges two lists of schedules, in the registry's order. The times at which they
// were first seen come from different clocks. If a later schedule was seen earlier, the one
// before it was over by then.
func joined(a, b []Schedule) []Schedule {
	if len(b) == 0 || slices.Equal(a, b) {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y Schedule) int { return cmp.Or(cmp.Compare(x.Rev, y.Rev), cmp.Compare(x.Since, y.Since)) })
	for k := len(all) - 2; k >= 0; k-- {
		all[k].Since = min(all[k].Since, all[k+1].Since)
	}
	all = slices.CompactFunc(all, func(x, y Schedule) bool { return x.Cron == y.Cron })
	return all[max(0, len(all)-keptSchedules):]
}

// CronAt is the cron that the job followed at a moment.
func CronAt(all []Schedule, at int64) string {
	cron := ""
	for k, sc := range all {
		if k == 0 || sc.Since <= at {
			cron = sc.Cron
		}
	}
	return cron
}

// total is the number of items, and when it changed; 0: before this member joined.
type total struct {
	items  int
	since  int64
	unread bool // an earlier view had no configuration, so the first total may be new

	sets int32 // ConfigSets of the view that had it
}

// seeTotal notes when the number of items has changed. Items that a larger total adds have no
// instants before that.
func (s *State) seeTotal() {
	t := &s.schedule.total
	c, v := s.config(), s.view
	if c == nil {
		t.unread = true
		return
	}
	switch {
	case c.Total != t.items:
		if t.items != 0 || t.unread {
			t.since = s.now
		}
		t.items = c.Total
	case v.ConfigSets > t.sets+1 && v.Assignment.Total < c.Total:
		t.since = s.now // a smaller total may have come and gone in between
	}
	t.sets = v.ConfigSets
}

// gap returns the rows of a gap: one for each schedule that was in force during it.
func (c *schedule) gap(r Row) []Row {
	r.Gap = true
	var rows []Row
	for k, sc := range c.known {
		part := r
		part.Cron = sc.Cron
		if k > 0 {
			part.After = max(r.After, sc.Since-1)
		}
		if k+1 < len(c.known) {
			part.Until = min(r.Until, c.known[k+1].Since)
		}
		if part.Cron != "" && part.Until-part.After > 1 {
			rows = append(rows, part)
		}
	}
	return rows
}

// undated reports whether the schedule has not reported its newest instant yet. Until then it
// is unknown whether an instant has overtaken a run.
func (s *State) undated() bool { return !s.schedule.dated && s.config().Cron != "" }

// noteInstant notes an instant that has come, and reports whether it is newer than any
// before. One of a pause is remembered as such, so that it is not compensated.
func (s *State) noteInstant(t Tick) bool {
	if t.At <= s.schedule.latest.At {
		return false
	}
	s.schedule.latest = t
	if s.view != nil && (s.view.cameInPause(t.At) || s.pausedByCron()) {
		s.schedule.paused = t.At
	}
	return true
}

// later reports whether an instant after the run's own has come or is accounted for. Then a
// run that waits is too late.
func (s *State) later(e Entry) bool {
	last := s.view.last(e.Item)
	if t := s.view.resumed(e.Item); t >= e.Instant {
		last = t // a clock that was ahead began later instants
	}
	return last > e.Instant || s.schedule.latest.At > e.Instant
}
