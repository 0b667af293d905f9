package sandbox

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
)

// Work of the host waits for memory as a run does, and others wait for it.
func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		if _, err := b.reserve(t.Context(), 11); err == nil || !strings.Contains(err.Error(), "needs 11 bytes") || !strings.Contains(err.Error(), "is 10;") {
			t.Errorf("more than there is: %v", err)
		}
		release, err := b.reserve(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		r := someRun(t.Context())
		waits := taking(b, r, 5)
		wantWaiting(t, waits)
		release()
		release() // a second call does nothing
		wantDecided(t, waits, nil)

		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() {
			_, err := b.reserve(ctx, 6)
			got <- err
		}()
		wantWaiting(t, got)
		cancel()
		wantDecided(t, got, context.Canceled)
		b.give(5)
		b.leave(r)
		if b.used != 0 || b.busy != 0 {
			t.Errorf("%d used, %d busy", b.used, b.busy)
		}
	})
}
