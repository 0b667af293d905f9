package host

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

// clock is one job's share of the ticker: it adds what the registry does not
// say, dialect and time zone.
type clock struct {
	ticker *schedule.Ticker
	job    job.Config

	mu   sync.Mutex // guards what follows: the loop sets it, the history counts by it
	text string
	last schedule.Schedule // what text means
}

func (c *clock) compile(cron string) (schedule.Schedule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.text == cron {
		return c.last, nil
	}
	s, err := schedule.Compile(cron, c.job.Dialect, c.job.TimeZone)
	if err != nil {
		return nil, err
	}
	c.text, c.last = cron, s
	return s, nil
}

// Set lets ticks come, from the first instant after from.
func (c *clock) Set(cron string, from time.Time, tick func(at, prev int64)) error {
	s, err := c.compile(cron)
	if err != nil {
		return err
	}
	if why := schedule.WhyNever(s, from); why != "" {
		return fmt.Errorf("it never fires: %s", why)
	}
	c.ticker.Set(c.job.Name, s, from, func(t schedule.Tick) {
		prev := int64(0)
		if !t.Prev.IsZero() {
			prev = t.Prev.UnixMilli()
		}
		tick(t.At.UnixMilli(), prev)
	})
	return nil
}

// Remove ends the ticks.
func (c *clock) Remove() { c.ticker.Remove(c.job.Name) }

// maxCount bounds how long counting takes: so many instants of the densest
// schedule are more than a year.
const maxCount = 50_000_000

// Between counts the instants strictly between after and until.
func (c *clock) Between(cron string, after, until int64) (first, last, count int64, err error) {
	s, err := c.compile(cron)
	if err != nil {
		return 0, 0, 0, err
	}
	n, from, to := schedule.Count(s, time.UnixMilli(after), time.UnixMilli(until-1), maxCount)
	if n == 0 {
		return 0, 0, 0, nil
	}
	return from.UnixMilli(), to.UnixMilli(), int64(n), nil
}

// dealer asks a job's strategy, and the average one when that fails: items
// that nobody has would be worse than items that somebody else should have.
type dealer struct {
	o    *Options
	job  string
	log  *slog.Logger
	work *sync.WaitGroup // one for each question to a strategy
}

// dealTimeout is how long a strategy may take.
const dealTimeout = 10 * time.Second

// Deal returns the items of each instance.
func (d *dealer) Deal(ctx context.Context, r protocol.AssignRequest) ([][]int, error) {
	req := strategy.Request{Job: d.job, Total: r.Total, Previous: r.Previous}
	for _, id := range r.Instances {
		req.Instances = append(req.Instances, string(id))
	}
	items, err := d.named(ctx, r.Strategy, req)
	if err == nil {
		return items, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d.log.Error("the sharding strategy failed, items are dealt out evenly", "strategy", r.Strategy, "error", err)
	return strategy.Average(ctx, req)
}

func (d *dealer) named(ctx context.Context, name string, req strategy.Request) ([][]int, error) {
	s, err := d.o.strategy(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dealTimeout)
	defer cancel()
	type answer struct {
		items [][]int
		err   error
	}
	answers := make(chan answer, 1) // nobody reads one that comes too late
	d.work.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				answers <- answer{err: fmt.Errorf("panic: %v", p)}
			}
		}()
		items, err := s.Assign(ctx, req)
		answers <- answer{items, err}
	})
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, a.err
		}
		return a.items, strategy.Check(req, a.items)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sinks is all of them as one: a row is safe when the last one has it.
type sinks []trace.Sink

// Write stores the batch everywhere.
func (s sinks) Write(ctx context.Context, batch []trace.Row) error {
	for _, sink := range s {
		if err := sink.Write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}
