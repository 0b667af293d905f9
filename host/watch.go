package host

import (
	"context"
	"log/slog"
	"time"
)

const (
	watchEvery = time.Second // the time between two looks at the clock
	// maxSlew is how much the clock may differ from the time that has passed. Time services
	// cause smaller differences all the time, which hardly affect a fire.
	maxSlew = 2 * time.Second
)

// watchClock logs jumps of the clock. All schedules follow the clock, so the log then explains
// why nothing fires for an hour.
func watchClock(ctx context.Context, log *slog.Logger) {
	again := time.NewTicker(watchEvery)
	defer again.Stop()
	for last := time.Now(); ; {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		// Round(0) removes Go's monotonic time, so the first difference is that of the clock.
		switch by := jump(now.Round(0).Sub(last.Round(0)), now.Sub(last)); {
		case by < 0:
			log.Warn("the clock was set back; no instant begins twice, so each job waits until the clock passes its last instant", "by", (-by).String())
		case by > 0:
			log.Warn("the clock was set forward, or the system slept; instants that came meanwhile are late or missed", "by", by.String())
		}
		last = now
	}
}

// jump returns how far the clock was set, from the time that it shows and the time that has
// passed. It is 0 below maxSlew.
func jump(shown, passed time.Duration) time.Duration {
	if by := (shown - passed).Round(time.Millisecond); by.Abs() >= maxSlew {
		return by
	}
	return 0
}
