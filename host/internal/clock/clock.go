// Package clock connects a job to its schedule: it wakes the job at its
// instants and counts them, in the job's dialect and time zone. It does not
// decide about late or missed instants.
package clock

import (
	"fmt"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
)

// Clock is one job's share of a ticker. It adds everything besides the cron that
// determines instants: dialect, time zone, excepted days and jitter. The zero Clock
// counts instants, but delivers no ticks.
type Clock struct {
	ticker *schedule.Ticker
	job    string

	mu   sync.Mutex        // guards the fields below: the loop sets it, the history counts by it
	of   job.Config        // what Use has set
	text string            // the cron that was compiled last
	last schedule.Schedule // the compiled text; nil if the settings have changed since
}

// New returns the clock of a job.
func New(t *schedule.Ticker, job string) *Clock { return &Clock{ticker: t, job: job} }

// Compile compiles a cron expression with the job's settings. It keeps the last result, since a
// job asks for the same cron again and again.
func (c *Clock) Compile(cron string) (schedule.Schedule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.text == cron {
		return c.last, nil
	}
	of := c.of
	of.Cron = cron
	s, err := schedule.Of(of)
	if err != nil {
		return nil, err
	}
	c.text, c.last = cron, s
	return s, nil
}

// Use sets the settings of a job that determine instants.
func (c *Clock) Use(j job.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of, c.last = job.Config{Name: j.Name, Dialect: j.Dialect, TimeZone: j.TimeZone, Except: j.Except, Jitter: j.Jitter}, nil
}

// Set starts ticks, from the first instant after from. tick receives an instant and the one before
// it, or 0 if that is not known, in ms. The error is runner.ErrOver if no instant follows but some
// have passed.
func (c *Clock) Set(cron string, from time.Time, tick func(at, prev int64)) error {
	s, err := c.Compile(cron)
	if err != nil {
		return err
	}
	if schedule.Over(s, from) {
		return runner.ErrOver
	}
	if why := schedule.WhyNever(s, from); why != "" {
		return fmt.Errorf("it never fires: %s", why)
	}
	c.ticker.Set(c.job, s, from, func(t schedule.Tick) {
		prev := int64(0)
		if !t.Prev.IsZero() {
			prev = t.Prev.UnixMilli()
		}
		tick(t.At.UnixMilli(), prev)
	})
	return nil
}

// Next returns the instant of the next tick, or zero if there is none.
func (c *Clock) Next() time.Time { return c.ticker.Next(c.job) }

// Remove ends the ticks.
func (c *Clock) Remove() { c.ticker.Remove(c.job) }

// maxCount bounds the time of counting. Even in the densest schedule this number of
// instants covers more than a year.
const maxCount = 50_000_000

// Between counts the instants of a cron strictly between after and until, and returns the first
// and the last of them. Count includes its upper bound, hence until-1.
func (c *Clock) Between(cron string, after, until int64) (first, last, count int64, err error) {
	s, err := c.Compile(cron)
	if err != nil {
		return 0, 0, 0, err
	}
	n, from, to := schedule.Count(s, time.UnixMilli(after), time.UnixMilli(until-1), maxCount)
	if n == 0 {
		return 0, 0, 0, nil
	}
	return from.UnixMilli(), to.UnixMilli(), int64(n), nil
}

// After returns the first instant of a cron after the moment at, or 0 if there is none.
func (c *Clock) After(cron string, at int64) int64 {
	s, err := c.Compile(cron)
	if err != nil {
		return 0
	}
	next := s.Next(time.UnixMilli(at))
	if next.IsZero() {
		return 0
	}
	return next.UnixMilli()
}

// Newest returns the newest instants of a cron strictly between after and until, ascending, at
// most as many as most.
func (c *Clock) Newest(cron string, after, until int64, most int) ([]int64, error) {
	s, err := c.Compile(cron)
	if err != nil {
		return nil, err
	}
	newest := schedule.Newest(s, time.UnixMilli(after), time.UnixMilli(until-1), most)
	all := make([]int64, len(newest))
	for k, t := range newest {
		all[k] = t.UnixMilli()
	}
	return all, nil
}
