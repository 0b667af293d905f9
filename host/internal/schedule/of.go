package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Of compiles the schedule of a job: its cron, without the excepted days, and shifted by
// the job's share of the jitter.
func Of(c job.Config) (Schedule, error) {
	s, err := Compile(c.Cron, c.Dialect, c.TimeZone)
	if err != nil {
		return nil, err
	}
	if len(c.Except) > 0 {
		loc, err := LoadLocation(c.TimeZone)
		if err != nil {
			return nil, err
		}
		days, _ := job.ParseDays(c.Except) // Validate reports what is wrong with them
		s = &excepting{s, days, loc}
	}
	if by := share(c.Name, c.Jitter); by > 0 {
		s = &delayed{s, by}
	}
	return s, nil
}

// Plain returns the schedule of the cron alone.
func Plain(s Schedule) Schedule {
	if d, is := s.(*delayed); is {
		s = d.of
	}
	if e, is := s.(*excepting); is {
		s = e.of
	}
	return s
}

// Excepted reports whether an instant is missing in the schedule of a job only because its
// day is excepted. The day is that of the instant without the job's delay.
func Excepted(s Schedule, at time.Time) bool {
	if d, is := s.(*delayed); is {
		s, at = d.of, at.Add(-d.by)
	}
	e, is := s.(*excepting)
	return is && e.days.Has(at.In(e.loc)) && e.of.Next(at.Add(-time.Nanosecond)).Equal(at)
}

// share returns the delay of a job's instants, which is less than jitter, in whole seconds.
// It depends only on the name, so all servers agree and a restart changes nothing.
func share(name string, jitter time.Duration) time.Duration {
	seconds := uint64(jitter / time.Second)
	if seconds == 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return time.Duration(binary.BigEndian.Uint64(sum[:])%seconds) * time.Second
}

// delayed is a schedule with all instants delayed by the same time.
type delayed struct {
	of Schedule
	by time.Duration
}

// Next returns the first delayed instant strictly after t, or the zero time if there is
// none.
func (d *delayed) Next(t time.Time) time.Time {
	at := d.of.Next(t.Add(-d.by))
	if at.IsZero() {
		return at
	}
	return at.Add(d.by)
}

// excepting is a schedule without the instants of certain days.
type excepting struct {
	of   Schedule
	days *job.Days
	loc  *time.Location
}

// maxExcepted bounds one search: the years of a schedule have fewer consecutive groups of
// excepted days.
const maxExcepted = 50_000

// Next returns the first instant strictly after t whose day is not excepted, or the zero
// time if there is none. It skips consecutive excepted days at once.
func (e *excepting) Next(t time.Time) time.Time {
	for range maxExcepted {
		at := e.of.Next(t)
		if at.IsZero() || !e.days.Has(at.In(e.loc)) {
			return at
		}
		day, ok := e.days.After(at.In(e.loc))
		if !ok {
			break
		}
		// A midnight that clocks skip becomes a time of the day before; then the search
		// goes on from instant to instant.
		t = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, e.loc).Add(-time.Second)
		if !t.After(at) {
			t = at
		}
	}
	return time.Time{}
}
