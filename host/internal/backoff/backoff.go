// Package backoff computes how long to wait before a retry: the first pause doubles with
// each failure in a row, up to a bound. After is a pure function of the number of
// failures, for code that is replayed. A Backoff counts the failures itself, and shortens
// its pauses at random, so that servers that failed together do not retry together.
// Nothing here waits.
package backoff

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// The bounds of a Backoff that sets none.
const (
	First = 100 * time.Millisecond
	Last  = 10 * time.Second
)

// After returns the pause after the given number of failures in a row: first after one,
// and never more than last. After 0 failures there is no pause.
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

// Spread shortens a pause at random, by at most half.
func Spread(d time.Duration) time.Duration { return d/2 + rand.N(d-d/2+1) }

// Backoff computes the pauses between attempts at one operation. The zero value begins
// with First and grows up to Last; use a new one after a success.
type Backoff struct {
	First, Last time.Duration // 0 means the bounds of the package
	failures    int
}

// Next returns the pause after one more failure.
func (b *Backoff) Next() time.Duration {
	b.failures++
	return Spread(After(cmp.Or(b.First, First), cmp.Or(b.Last, Last), b.failures))
}
