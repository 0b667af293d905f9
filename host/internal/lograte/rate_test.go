package lograte

import (
	"strconv"
	"testing"
	"time"
)

// linesGot returns how many of n lines an item may log.
func linesGot(l *Limiter, now time.Time, job string, item, perSecond, n int) int {
	got := 0
	for range n {
		if l.TakeLine(now, job, item, perSecond) {
			got++
		}
	}
	return got
}

func TestAnItemHasItsLinesASecond(t *testing.T) {
	t.Parallel()
	var l Limiter
	now := time.Unix(1000, 0)
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 10}, {0, 0}, {100 * time.Millisecond, 1}, {500 * time.Millisecond, 5}, {time.Hour, 10}, {-time.Minute, 0}} {
		now = now.Add(step.after)
		if got := linesGot(&l, now, "a", 0, 10, 100); got != step.want {
			t.Errorf("%v later: %d lines, want %d", step.after, got, step.want)
		}
	}
	if got := linesGot(&l, now, "a", 1, 10, 100); got != 10 {
		t.Errorf("another item: %d lines", got)
	}
	l.Reset()
	if got := linesGot(&l, now, "a", 1, 10, 100); got != 10 {
		t.Errorf("after a reset: %d lines", got)
	}
}

func TestItemsOfAJobShareABound(t *testing.T) {
	t.Parallel()
	var l Limiter
	now := time.Unix(1000, 0)
	flood := func(job string) (n int) {
		for item := range 1000 {
			n += linesGot(&l, now, job, item, 50, 60)
		}
		return n
	}
	if got := flood("a"); got != 50*JobFactor {
		t.Errorf("%d lines", got)
	}
	if got := linesGot(&l, now, "b", 0, 50, 60); got != 50 {
		t.Errorf("another job: %d lines", got)
	}
	now = now.Add(time.Second)
	if got := flood("a"); got != 50*JobFactor {
		t.Errorf("a second later: %d lines", got)
	}
}

func TestRateMayChange(t *testing.T) {
	t.Parallel()
	var l Limiter
	now := time.Unix(1000, 0)
	linesGot(&l, now, "a", 0, 1000, 1)
	if got := linesGot(&l, now, "a", 0, 2, 100); got != 2 {
		t.Errorf("%d lines", got)
	}
}

// Sources without lines take no memory.
func TestSilentItemsAreForgotten(t *testing.T) {
	t.Parallel()
	var l Limiter
	now := time.Unix(1000, 0)
	for i := range 100_000 {
		now = now.Add(10 * time.Millisecond)
		l.TakeLine(now, strconv.Itoa(i), i, 50)
	}
	if n := len(l.buckets); n > 1000 {
		t.Errorf("%d buckets, want at most 1000", n)
	}
}
