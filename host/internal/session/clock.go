package session

import (
	"context"
	"sync"
	"time"
)

// clock compares this server's clock with the registry's: the registry's time is
// that of the newest transaction which told it, plus what has passed since, also
// while the machine slept.
type clock struct {
	moment func() moment
	inside bool // the registry goes by this server's clock

	mu             sync.Mutex // guards what follows
	known          bool
	sent, answered moment
	theirs         time.Time
}

const (
	// askTime is how often the time is asked for, where no transaction tells it.
	askTime = time.Minute
	// lookTime is how often somebody looks whether a clock was set.
	lookTime = 10 * time.Second
	// vagueTime is how long a transaction may have taken whose time is worth more
	// than an earlier one.
	vagueTime = time.Second
)

// tell takes the time of a transaction, or of an answer.
func (c *clock) tell(sent moment, theirs time.Time) {
	if theirs.IsZero() {
		return
	}
	now := c.moment()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && now.since(sent) > vagueTime && now.since(c.answered) < askTime {
		return
	}
	c.known, c.sent, c.answered, c.theirs = true, sent, now, theirs
}

// skew is by how many ms this server's clock is ahead, at least: the registry looked
// at its own at some moment between question and answer.
func (c *clock) skew() int64 {
	now := c.moment()
	return c.skewAt(now, now.at.Round(0))
}

// skewAt is skew at a moment at which this server's clock shows another time than
// the one that has passed.
func (c *clock) skewAt(now moment, shown time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return 0
	}
	sent, answered := now.since(c.sent), now.since(c.answered)
	if c.inside {
		sent, answered = shown.Sub(c.sent.at.Round(0)), shown.Sub(c.answered.at.Round(0))
	}
	switch earliest, latest := c.theirs.Add(answered), c.theirs.Add(sent); {
	case shown.Before(earliest):
		return -earliest.Sub(shown).Milliseconds()
	case shown.After(latest):
		return shown.Sub(latest).Milliseconds()
	}
	return 0
}

// age is how long ago the time was told.
func (c *clock) age() time.Duration {
	now := c.moment()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return askTime
	}
	return now.since(c.answered)
}

// askTheTime asks the registry for it.
func (c *connected) askTheTime(ctx context.Context) error {
	sent := c.clock.moment()
	theirs, err := c.session.Time(ctx)
	if err == nil {
		c.clock.tell(sent, theirs)
	}
	return err
}

// keepTime asks for the time whenever nothing has told it for a while. A job at rest
// hears when this server's clock was set, or differs from the registry's otherwise
// than before: it would wait for an instant that its schedule told already.
func (c *connected) keepTime(ctx context.Context) {
	again := time.NewTicker(lookTime)
	defer again.Stop()
	looked, known := c.clock.moment(), c.clock.skew()
	for {
		select {
		case <-again.C:
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
		if c.clock.age() >= askTime {
			_ = c.askTheTime(c.life) // what is known goes on to count
		}
		now, skew := c.clock.moment(), c.clock.skew()
		set := now.at.Round(0).Sub(looked.at.Round(0)) - now.since(looked)
		if set.Abs() >= vagueTime || max(skew-known, known-skew) >= vagueTime.Milliseconds() {
			known = skew
			c.remind()
		}
		looked = now
	}
}

// remind has every job look at the clock, as it does when the trust changes.
func (c *connected) remind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.lines {
		for _, l := range of {
			l.listener.Doubted(c.doubt)
		}
	}
}
