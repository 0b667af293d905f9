package session

import (
	"time"

	"golang.org/x/sys/unix"
)

// timeAsleep returns how long the machine has been asleep since it was booted. Go's
// monotonic clock stands still during that time, while the clock of the registry's
// server goes on.
func timeAsleep() time.Duration {
	var boot, awake unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - awake.Nano())
}
