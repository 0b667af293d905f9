package host

import (
	"runtime/debug"
	"sync"
)

// usualGrowth is Go's own: who has set another one has thought about it.
const usualGrowth = 100

// startGrowth is by how many percent the heap may grow, until it is collected,
// while jobs begin. What a job keeps is small beside what its start needs, and
// comes to lie in between: with more room half of the memory would be empty, and
// stay so.
const startGrowth = 25

// thrifty keeps the heap dense until the function is called that it gives, which
// then returns what is free to the system. That may be called again.
func thrifty() (end func()) {
	if before := debug.SetGCPercent(startGrowth); before != usualGrowth {
		debug.SetGCPercent(before)
		return func() {}
	}
	return sync.OnceFunc(func() {
		debug.SetGCPercent(usualGrowth)
		debug.FreeOSMemory()
	})
}
