package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/schedule"
)

// Schedule gives the instants at which something fires: Next is the first one
// strictly after t, or the zero time for never.
type Schedule interface {
	Next(t time.Time) time.Time
}

// Compile reads a cron expression as the keys cron, dialect and timezone of a
// job are read. An empty dialect is quartz, an empty time zone UTC.
func Compile(expr, dialect, timezone string) (Schedule, error) {
	return schedule.Compile(expr, dialect, timezone)
}

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

// Notes tells what in a schedule is valid and was perhaps not meant: parts of its
// text that count for nothing, and what changes of the clocks will do to it in
// the year after from.
func Notes(s Schedule, from time.Time) []string {
	q, ok := s.(*schedule.Quartz)
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

// checkCron also refuses what never fires: whoever wants no fires writes
// schedule = "manual". A schedule that is over was right once: the other jobs of
// the file must not stand still for it.
func checkCron(expr, dialect, timezone string) error {
	s, err := Compile(expr, dialect, timezone)
	if err != nil {
		return err
	}
	now := time.Now()
	if schedule.Over(s, now) {
		return nil
	}
	return Never(s, now)
}
