package protocol

import (
	"math"
	"testing"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy  RetryPolicy
		attempt int
		want    int64
	}{
		{RetryPolicy{Backoff: 1000, MaxBackoff: 3000}, 1, 1000},
		{RetryPolicy{Backoff: 1000, MaxBackoff: 3000}, 2, 2000},
		{RetryPolicy{Backoff: 1000, MaxBackoff: 3000}, 3, 3000},
		{RetryPolicy{Backoff: 1000, MaxBackoff: 3000}, 99, 3000},
		{RetryPolicy{Backoff: 1000}, 4, 8000},
		{RetryPolicy{Backoff: 1000}, 100, longest},
		{RetryPolicy{Backoff: math.MaxInt64}, 2, longest},
		{RetryPolicy{}, 5, 0},
	} {
		if got := tt.policy.wait(tt.attempt); got != tt.want {
			t.Errorf("%+v waits %d ms after attempt %d, want %d", tt.policy, got, tt.attempt, tt.want)
		}
	}
}
