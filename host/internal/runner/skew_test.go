package runner

import (
	"testing"
	"time"
)

func TestSkew(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1000, 0)
	for _, tt := range []struct {
		took   time.Duration
		theirs time.Duration // after sent
		want   int64
	}{
		{0, 0, 0},
		{time.Second, 500 * time.Millisecond, 0},
		{time.Second, time.Second, 0},
		{time.Second, 3 * time.Second, -2000},
		{time.Second, -2 * time.Second, 2000},
	} {
		if got := skewOf(sent, tt.took, sent.Add(tt.theirs)); got != tt.want {
			t.Errorf("the answer %s came within %s: skew %d, want %d", tt.theirs, tt.took, got, tt.want)
		}
	}
}
