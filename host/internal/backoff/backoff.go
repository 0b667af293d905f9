// Package backoff says how long to wait before something that failed is tried
// again: a little first, then twice as long with each failure in a row, up to a
// bound. After is a plain function of the failures, for code that is replayed. A
// Backoff counts them itself, and lets chance shorten its pauses, so that servers
// that failed together do not come back together. Nothing here waits.
package backoff

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// The bounds of a Backoff that names none.
const (
	First = 100 * time.Millisecond
	Last  = 10 * time.Second
)

// After is the pause after so many failures in a row: first after one of them, and
// never more than last. After none there is no pause.
func After[T ~int64](first, last T, failures int) T {
	if failures < 1 {
		return 0
	}
	d := min(first, last)
	for ; failures > 1 && 0 < d && d < last; failures-- {
		if d > last/2 {
			return last
		}
		d *= 2
	}
	return d
}

// Spread takes up to half of a pause away.
func Spread(d time.Duration) time.Duration { return d/2 + rand.N(d-d/2+1) }

// Backoff are the pauses between attempts at one thing. The zero value begins with
// First and grows up to Last; begin with a new one after a success.
type Backoff struct {
	First, Last time.Duration // 0: those of the package
	failures    int
}

// Next is how long to wait after one more failure.
func (b *Backoff) Next() time.Duration {
	b.failures++
	return Spread(After(cmp.Or(b.First, First), cmp.Or(b.Last, Last), b.failures))
}
