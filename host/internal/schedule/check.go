package schedule

import (
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Check returns an error if the schedule of a job is wrong: its cron expression cannot be
// parsed, or it has no instant at all. A schedule whose last instant has passed is valid,
// and so is a job without a schedule.
func Check(c job.Config, now time.Time) error {
	if c.Cron == "" {
		return nil
	}
	s, err := Of(c)
	if err != nil {
		return fmt.Errorf("cron: %w", err)
	}
	if why := WhyNever(s, now); why != "" && !Over(s, now) {
		return fmt.Errorf("cron: %q never fires: %s", c.Cron, why)
	}
	return nil
}
