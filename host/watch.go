package host

import (
	"context"
	"log/slog"
	"time"
)

const (
	watchEvery = time.Second
	// maxSlew is how much the clock may differ from the time that has passed:
	// less is what time services do all day, and moves no fire out of sight.
	maxSlew = 2 * time.Second
)

// watchClock tells of jumps of the clock, by which all schedules go: whoever
// wonders why nothing fires for an hour should find the reason.
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
		switch by := jump(now.Round(0).Sub(last.Round(0)), now.Sub(last)); {
		case by < 0:
			log.Warn("the clock was set back; no instant begins twice, so jobs wait where instants had begun until those are past", "by", (-by).String())
		case by > 0:
			log.Warn("the clock was set forward, or the system slept; what should have fired meanwhile is late or missed", "by", by.String())
		}
		last = now
	}
}

// jump is how far the clock was set while the second amount of time passed.
func jump(shown, passed time.Duration) time.Duration {
	if by := (shown - passed).Round(time.Millisecond); by.Abs() >= maxSlew {
		return by
	}
	return 0
}
