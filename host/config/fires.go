package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
)

// Schedule returns the instants at which a job fires: Next returns the first instant strictly
// after t, or the zero time if there is none.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Compile reads the schedule of a job: its cron, without excepted days, and delayed by the
// job's jitter. An empty dialect is quartz, an empty time zone UTC.
func Compile(c job.Config) (Schedule, error) { return schedule.Of(c) }

// Location loads a time zone by the rules for the key timezone.
func Location(name string) (*time.Location, error) { return schedule.LoadLocation(name) }

// Never returns an error that says why a schedule has no instant after from, or nil if it has
// one.
func Never(s Schedule, from time.Time) error {
	if why := schedule.WhyNever(s, from); why != "" {
		return fmt.Errorf("never fires: %s", why)
	}
	return nil
}

// Warnings returns what in a schedule is valid but may not be intended: parts of its text
// without effect, and effects of clock changes in the year after from.
func Warnings(s Schedule, from time.Time) []string {
	q, ok := schedule.Plain(s).(*schedule.Quartz)
	if !ok {
		return nil
	}
	return slices.Concat(q.Warnings(), q.ClockChanges(from))
}

// Over returns why a schedule does not fire any more; "" if it does, or if it never fired.
func Over(s Schedule, now time.Time) string {
	if !schedule.Over(s, now) {
		return ""
	}
	return schedule.WhyNever(s, now)
}

// checkCron returns why the cron of a job cannot be used. It also refuses a schedule that never
// fires: schedule = "manual" says so explicitly. It accepts a schedule that is over, which was
// valid once and must not prevent the other jobs of the file from running.
func checkCron(c job.Config) error {
	s, err := Compile(c)
	if err != nil {
		return err
	}
	now := time.Now()
	if schedule.Over(s, now) {
		return nil
	}
	return Never(s, now)
}
