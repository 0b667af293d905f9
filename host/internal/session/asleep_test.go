package session

import (
	"testing"
	"time"
)

// An answer may come long after the machine woke, to what was sent before it slept.
func TestTrustOfAnAnswerFromBeforeASleep(t *testing.T) {
	t.Parallel()
	start := moment{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour}
	now := start
	s := &vouched{at: start.at}
	j := newJudge(s, func() moment { return now }, start)
	trust := func(when string, want Trust) {
		t.Helper()
		if got, silent, _ := j.trust(); got != want {
			t.Errorf("%s: trust %d after %v, want %d", when, got, silent, want)
		}
	}
	now.at = now.at.Add(time.Second)
	sent := now.at
	trust("a moment later", Trusted)
	now.at, now.slept = now.at.Add(time.Second), now.slept+10*time.Second
	trust("it slept", Doubtful)
	now.at, s.at = now.at.Add(time.Second), sent
	trust("it is answered what was sent before", Doubtful)
	s.at = now.at
	trust("it is answered what was sent since", Trusted)
}
