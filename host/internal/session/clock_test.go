package session

import (
	"testing"
	"time"
)

// The registry's time is known as exactly as the answer was quick. It advances with
// the time that passes, not with the server's clock.
func TestSkew(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		took, theirs time.Duration // theirs: after it was sent
		passed       time.Duration
		jumped       time.Duration
		slept        time.Duration
		inside       bool
		want         int64
	}{
		"right":                    {},
		"within the answer":        {took: time.Second, theirs: 500 * time.Millisecond},
		"at its end":               {took: time.Second, theirs: time.Second},
		"behind":                   {took: time.Second, theirs: 3 * time.Second, want: -2000},
		"ahead":                    {took: time.Second, theirs: -2 * time.Second, want: 2000},
		"ahead, a day later":       {took: time.Second, theirs: -2 * time.Second, passed: 24 * time.Hour, want: 2000},
		"set forward since":        {passed: time.Minute, jumped: time.Hour, want: 3_600_000},
		"set back since":           {passed: time.Minute, jumped: -time.Hour, want: -3_600_000},
		"asleep":                   {passed: time.Minute, jumped: time.Hour, slept: time.Hour},
		"set forward, with theirs": {passed: time.Minute, jumped: time.Hour, inside: true},
	} {
		now := moment{at: sent}
		c := clock{now: func() moment { return now }, inside: tt.inside}
		if got := c.skew(); got != 0 {
			t.Errorf("%s: %d before anything is known", name, got)
		}
		now.at = sent.Add(tt.took)
		c.observe(moment{at: sent}, sent.Add(tt.theirs))
		now.at = now.at.Add(tt.passed)
		now.slept = tt.slept
		if got := c.skewAt(now, now.at.Add(tt.jumped)); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// A transaction that took long says little about the time.
func TestVagueTime(t *testing.T) {
	t.Parallel()
	now := moment{at: time.Unix(1000, 0)}
	c := clock{now: func() moment { return now }}
	sent := now
	c.observe(sent, now.at.Add(-2*time.Second))
	now.at = now.at.Add(30 * time.Second)
	c.observe(sent, now.at)
	if got := c.skew(); got != 2000 {
		t.Errorf("skew %d after an answer that took 30 s", got)
	}
	now.at = now.at.Add(askTime)
	c.observe(sent, now.at)
	if got := c.skew(); got != 0 {
		t.Errorf("skew %d, though the better answer is old", got)
	}
}
