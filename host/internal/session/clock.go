package session

import (
	"context"
	"sync"
	"time"
)

// clock estimates the time of the registry: the time that the newest answer
// carried, plus the time that has passed since, including the time that the machine
// was asleep. It compares that with this server's clock.
type clock struct {
	now    func() moment
	inside bool // the registry runs inside this server and uses its clock

	mu             sync.Mutex // guards the fields below
	known          bool       // an answer has carried the registry's time
	sent, answered moment     // of the request whose answer counts, and of that answer
	registryTime   time.Time  // what that answer carried
}

const (
	// askTime is the longest time without an answer that carries the registry's time.
	// After that the server asks for it.
	askTime = time.Minute
	// lookTime is how often watchTime checks whether a clock was set.
	lookTime = 10 * time.Second
	// vagueTime is the longest duration of a request whose answer replaces an
	// earlier time. A slower answer carries the time less exactly.
	vagueTime = time.Second
)

// observe records theirs, the registry's time in an answer that has just come; zero: it
// carries none. sent is when the request went out. A slow answer does not replace a time
// that is not old.
func (c *clock) observe(sent moment, theirs time.Time) {
	if theirs.IsZero() {
		return
	}
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && now.since(sent) > vagueTime && now.since(c.answered) < askTime {
		return
	}
	c.known, c.sent, c.answered, c.registryTime = true, sent, now, theirs
}

// skew returns by how many ms this server's clock is ahead of the registry's, at
// least; negative if it is behind. The registry read its clock at an unknown moment
// between request and answer, so a difference within that span counts as 0.
func (c *clock) skew() int64 {
	now := c.now()
	return c.skewAt(now, now.at.Round(0))
}

// skewAt is skew at a given moment, at which this server's clock shows the given
// time.
func (c *clock) skewAt(now moment, shown time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return 0
	}
	sent, answered := now.since(c.sent), now.since(c.answered)
	if c.inside { // both clocks are one, so setting it makes no skew
		sent, answered = shown.Sub(c.sent.at.Round(0)), shown.Sub(c.answered.at.Round(0))
	}
	switch earliest, latest := c.registryTime.Add(answered), c.registryTime.Add(sent); {
	case shown.Before(earliest):
		return -earliest.Sub(shown).Milliseconds()
	case shown.After(latest):
		return shown.Sub(latest).Milliseconds()
	}
	return 0
}

// age returns the time since the newest answer that carried the registry's time.
func (c *clock) age() time.Duration {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return askTime
	}
	return now.since(c.answered)
}

// fetchTime asks the registry for its time.
func (c *openSession) fetchTime(ctx context.Context) error {
	sent := c.clock.now()
	theirs, err := c.session.Time(ctx)
	if err == nil {
		c.clock.observe(sent, theirs)
	}
	return err
}

// watchTime asks for the registry's time when no transaction has carried it for
// askTime. It wakes the jobs when this server's clock was set, or its difference
// from the registry's clock has changed: an idle job would otherwise wait for an
// instant at which its schedule has fired already. Differences below vagueTime do not count.
func (c *openSession) watchTime(ctx context.Context) {
	again := time.NewTicker(lookTime)
	defer again.Stop()
	looked, known := c.clock.now(), c.clock.skew()
	for {
		if !c.awaitTick(ctx, again.C) {
			return
		}
		if c.clock.age() >= askTime {
			_ = c.fetchTime(c.ctx) // after an error the last known time stays in use
		}
		now, skew := c.clock.now(), c.clock.skew()
		set := now.at.Round(0).Sub(looked.at.Round(0)) - now.since(looked)
		if set.Abs() >= vagueTime || max(skew-known, known-skew) >= vagueTime.Milliseconds() {
			known = skew
			c.wakeJobs()
		}
		looked = now
	}
}

// wakeJobs makes every job check its clock. It repeats the session's health for
// that.
func (c *openSession) wakeJobs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repeatHealth()
}
