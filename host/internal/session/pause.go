package session

import (
	"context"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
)

// Sleep waits for d. It returns false if ctx ended first.
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

// Again calls do until ctx ends. After each call it reports the error and waits. Each wait is
// longer than the last, until a call has taken longer than backoff.Last.
func Again(ctx context.Context, do func() error, report func(error)) {
	for p := new(backoff.Backoff); ctx.Err() == nil; {
		begun := time.Now()
		err := do()
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > backoff.Last {
			p = new(backoff.Backoff)
		}
		report(err)
		Sleep(ctx, p.Next())
	}
}
