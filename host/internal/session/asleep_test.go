package session

import (
	"testing"
	"time"
)

// An answer that arrives long after the machine woke may be to a request from
// before the sleep.
func TestHealthIgnoresAnswersFromBeforeASleep(t *testing.T) {
	t.Parallel()
	start := moment{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour}
	now := start
	s := &acknowledging{at: start.at}
	j := newMonitor(s, func() moment { return now }, start)
	expect := func(when string, want Health) {
		t.Helper()
		if got, silent, _ := j.health(); got != want {
			t.Errorf("%s: health %d after %v, want %d", when, got, silent, want)
		}
	}
	now.at = now.at.Add(time.Second)
	sent := now.at
	expect("a moment later", Trusted)
	now.at, now.slept = now.at.Add(time.Second), now.slept+10*time.Second
	expect("it slept", Doubtful)
	now.at, s.at = now.at.Add(time.Second), sent
	expect("it is answered what was sent before", Doubtful)
	s.at = now.at
	expect("it is answered what was sent since", Trusted)
}
