package host

import (
	"runtime/debug"
	"sync"
)

// defaultGrowth is Go's default for GOGC. A process with another value has an
// operator who chose it, so the host leaves it alone.
const defaultGrowth = 100

// startGrowth is the GOGC of a host while its jobs start. A job keeps little of what
// its start allocates, and what it keeps lies between what it does not: at the default
// rate half of the heap would be empty afterwards and stay so.
const startGrowth = 25

// tightGC lowers the growth rate of the heap while jobs start and returns a function
// that restores it and gives free memory back to the system. The function may be
// called more than once.
func tightGC() (restore func()) {
	if before := debug.SetGCPercent(startGrowth); before != defaultGrowth {
		debug.SetGCPercent(before)
		return func() {}
	}
	return sync.OnceFunc(func() {
		debug.SetGCPercent(defaultGrowth)
		debug.FreeOSMemory()
	})
}
