package backoff

import (
	"math"
	"testing"
	"time"
)

func TestAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first, last int64
		failures    int
		want        int64
	}{
		{100, 1000, 0, 0},
		{100, 1000, 1, 100},
		{100, 1000, 2, 200},
		{100, 1000, 4, 800},
		{100, 1000, 5, 1000},
		{100, 1000, math.MaxInt, 1000},
		{1000, 100, 1, 100},
		{0, 1000, math.MaxInt, 0},
		{math.MaxInt64/2 + 1, math.MaxInt64, 2, math.MaxInt64},
	} {
		if got := After(tt.first, tt.last, tt.failures); got != tt.want {
			t.Errorf("%d to %d after %d: got %d, want %d", tt.first, tt.last, tt.failures, got, tt.want)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 1, 2, 3, time.Hour} {
		for range 100 {
			if got := Spread(d); got < d/2 || got > d {
				t.Fatalf("%v of %v", got, d)
			}
		}
	}
	seen := map[time.Duration]bool{}
	for len(seen) < 2 { // never returns unless both ends occur
		if got := Spread(1); got <= 1 {
			seen[got] = true
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		b    Backoff
		want []time.Duration
	}{
		{Backoff{}, []time.Duration{First, 2 * First, 4 * First, 8 * First, 16 * First, 32 * First, 64 * First, Last, Last}},
		{Backoff{First: time.Second, Last: 3 * time.Second}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
	} {
		for k, want := range tt.want {
			if got := tt.b.Next(); got < want/2 || got > want {
				t.Errorf("pause %d is %v, not %v to %v", k+1, got, want/2, want)
			}
		}
	}
}
