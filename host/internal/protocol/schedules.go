package protocol

import (
	"cmp"
	"slices"
)

// Past instants came from the schedule that was in force then. The configuration has
// only the present one, so the newest ones are kept in the members' records and in the
// assignment. They travel with other writes.

// Schedule is a source of the job's instants, and when it came into force.
type Schedule struct {
	Rev   int64 // of the registry, at which it was in force
	Since int64 // ms: seen in force then, and no schedule before it later
	Cron  string
}

// schedule is what this member knows of the instants of the job.
type schedule struct {
	cron   *string    // by which the clock goes; nil: none was set yet
	unread bool       // not even that can be read
	known  []Schedule // the newest last; empty before a configuration was seen
	total  total

	tick    Tick    // the instant that is being answered; At 0: none
	latest  Tick    // the newest instant that came due
	next    int64   // the one after it, as of Tick
	dated   bool    // the schedule has said which instant is the newest; it may have none
	paused  int64   // the newest instant that came during a pause
	ends    int64   // when the pause that this member has seen ends; 0: it has none, or has been told as over
	follows bool    // the job runs after others
	good    []int64 // instants at which these have ended well, ascending

	unseen int64 // the newest instant that had come before this server, until the next one comes; 0: none
}

// tickAnswered: every own item has begun the due instant, or has an excuse.
type tickAnswered struct{}

func (tickAnswered) keep(s *State, _ *Plan) { s.schedule.tick = Tick{} }

// keptSchedules is how many of the newest are kept. A gap that reaches back
// further is counted by the oldest of them.
const keptSchedules = 4

// seeSchedule notes the schedules that the job has followed, and when each came into
// force.
func (s *State) seeSchedule() {
	c := s.config()
	if c == nil {
		return
	}
	since := s.now
	if len(s.schedule.known) == 0 { // it may have changed while no server was there
		since = min(s.now, s.view.ConfigModifiedAt)
	}
	s.schedule.known = joined(s.schedule.known, s.view.Assignment.Schedules)
	for k := range s.view.Runs {
		s.schedule.known = joined(s.schedule.known, s.view.Runs[k].Schedules)
	}
	switch n, cron := len(s.schedule.known), s.inForce(c); {
	case n == 0:
		s.schedule.known = []Schedule{{s.view.ConfigModified, s.now, cron}}
	case s.schedule.known[n-1].Cron != cron:
		s.schedule.known = joined(s.schedule.known, []Schedule{{max(s.view.ConfigModified, s.schedule.known[n-1].Rev), since, cron}})
	}
}

// joined merges the schedules of two lists. Their order is that of the registry. The
// times at which they were seen first are of clocks that differ: a later schedule that
// was seen earlier shows that the one before was over by then.
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

// CronAt is the schedule by which the job went at a moment.
func CronAt(all []Schedule, at int64) string {
	cron := ""
	for k, sc := range all {
		if k == 0 || sc.Since <= at {
			cron = sc.Cron
		}
	}
	return cron
}

// total is the number of items, and when it came into force; 0: before this member
// joined.
type total struct {
	items  int
	since  int64
	unread bool // some view had none, so that the first may be new

	sets int32 // of the configuration that said so
}

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
		t.since = s.now // a smaller total may have come and gone unseen
	}
	t.sets = v.ConfigSets
}

// gap is a gap as rows: one for each schedule that was in force during it.
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

// undated: the schedule has not reported its newest instant yet.
func (s *State) undated() bool { return !s.schedule.dated && s.config().Cron != "" }

// noteInstant notes a due instant, and reports whether it is newer than any before.
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

// later: an instant after the run's own has come or is accounted for.
func (s *State) later(e Entry) bool {
	last := s.view.last(e.Item)
	if t := s.view.resumed(e.Item); t >= e.Instant {
		last = t // later instants began by a clock that was ahead
	}
	return last > e.Instant || s.schedule.latest.At > e.Instant
}
