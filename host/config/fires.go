package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
)

// Schedule returns the instants at which a job fires: Next is the first one
// strictly after t, or the zero time for never.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Compile reads the schedule of a job: its cron, without the days on which it does not
// fire, and later by its share of the jitter. An empty dialect is quartz, an empty time
// zone UTC.
func Compile(c job.Config) (Schedule, error) { return schedule.Of(c) }

// Location loads a time zone as the key timezone is read.
func Location(name string) (*time.Location, error) { return schedule.LoadLocation(name) }

// Never is the error of a schedule that has no instant after from, and says
// why; nil if there is one.
func Never(s Schedule, from time.Time) error {
	if why := schedule.WhyNever(s, from); why != "" {
		return fmt.Errorf("never fires: %s", why)
	}
	return nil
}

// Warnings returns what in a schedule is valid but may not be intended: parts of its
// text without effect, and the effects of clock changes in the year after from.
func Warnings(s Schedule, from time.Time) []string {
	q, ok := schedule.Plain(s).(*schedule.Quartz)
	if !ok {
		return nil
	}
	return slices.Concat(q.Warnings(), q.ClockChanges(from))
}

// Over is the reason why a schedule fires no more; "" if it does, or never did.
func Over(s Schedule, now time.Time) string {
	if !schedule.Over(s, now) {
		return ""
	}
	return schedule.WhyNever(s, now)
}

// checkCron also refuses a schedule that never fires: schedule = "manual" is the
// way to ask for no fires. A schedule that is over was right once, and is accepted:
// it must not keep the other jobs of the file from running.
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
