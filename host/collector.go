package host

import (
	"runtime/debug"
	"sync"
)

// defaultGrowth is Go's default for GOGC. The host does not change another value, which an
// operator has chosen.
const defaultGrowth = 100

// startGrowth is the GOGC of a host while its jobs start. The start of a job allocates much
// that it does not keep, scattered between what it keeps. At the default rate half of the heap
// would be empty afterwards and stay so.
const startGrowth = 25

// tightGC lowers the growth rate of the heap while jobs start and returns a function that
// restores it and returns free memory to the system. The function may be called more than once.
func tightGC() (restore func()) {
	if before := debug.SetGCPercent(startGrowth); before != defaultGrowth { // an operator's choice
		debug.SetGCPercent(before)
		return func() {}
	}
	return sync.OnceFunc(func() {
		debug.SetGCPercent(defaultGrowth)
		debug.FreeOSMemory()
	})
}
