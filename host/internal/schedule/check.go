package schedule

import (
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Check tells what is wrong with the schedule of a job: its cron expression cannot
// be read, or names no instant at all. One that is over, or a job without one, is
// no fault.
func Check(c job.Config, now time.Time) error {
	if c.Cron == "" {
		return nil
	}
	s, err := Compile(c.Cron, c.Dialect, c.TimeZone)
	if err != nil {
		return fmt.Errorf("cron: %w", err)
	}
	if why := WhyNever(s, now); why != "" && !Over(s, now) {
		return fmt.Errorf("cron: %q never fires: %s", c.Cron, why)
	}
	return nil
}
