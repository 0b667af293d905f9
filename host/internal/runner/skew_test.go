package runner

import "testing"

func TestSkewThatIsNews(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		known, skew int64
		want        bool
	}{
		{0, 0, false}, {0, 9, false}, {0, 10, true}, {0, -10, true}, {5000, 5009, false}, {5000, 4990, true}, {12, 3, false}, {12, 0, true}, {-3_600_000, 0, true},
	} {
		if got := skewIsNews(tt.known, tt.skew); got != tt.want {
			t.Errorf("%d after %d: %v", tt.skew, tt.known, got)
		}
	}
}
