package session

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses grow from one failure to the next, each with some chance in it so
// that servers that failed together do not come back together. The zero value
// begins with FirstPause.
type Pauses struct{ d time.Duration }

// The bounds of a pause.
const (
	FirstPause = 100 * time.Millisecond
	LastPause  = 10 * time.Second
)

// Next is how long to wait now.
func (p *Pauses) Next() time.Duration {
	d := max(p.d, FirstPause)
	p.d = min(2*d, LastPause)
	return d/2 + rand.N(d/2+1)
}

// Sleep waits, and tells whether ctx let it.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
