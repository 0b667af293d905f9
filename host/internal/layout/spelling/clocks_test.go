package spelling

import (
	"math"
	"testing"
)

func TestMaxSkew(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int32]int64{-2: 0, -1: 0, 0: 999, 1: 1000, math.MaxInt32: math.MaxInt32 * 1000} {
		if got := MaxSkew(seconds); got != want {
			t.Errorf("%d s: %d, want %d", seconds, got, want)
		}
	}
}
