package session

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended is how long the machine has slept since it was started. Go's own
// clock stands still meanwhile, that of the registry's server does not.
func suspended() time.Duration {
	var boot, awake unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - awake.Nano())
}
