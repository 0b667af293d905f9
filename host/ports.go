package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

// clock is one job's share of the ticker: it adds what the registry does not
// say, dialect and time zone.
type clock struct {
	ticker *schedule.Ticker
	name   string // of the job

	mu            sync.Mutex // guards what follows: the loop sets it, the history counts by it
	dialect, zone string
	text          string
	last          schedule.Schedule // what text means
}

func (c *clock) compile(cron string) (schedule.Schedule, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.text == cron {
		return c.last, nil
	}
	s, err := schedule.Compile(cron, c.dialect, c.zone)
	if err != nil {
		return nil, err
	}
	c.text, c.last = cron, s
	return s, nil
}

// Use takes dialect and time zone from a job.
func (c *clock) Use(j job.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialect, c.zone, c.last = j.Dialect, j.TimeZone, nil
}

// Set lets ticks come, from the first instant after from.
func (c *clock) Set(cron string, from time.Time, tick func(at, prev int64)) error {
	s, err := c.compile(cron)
	if err != nil {
		return err
	}
	if schedule.Over(s, from) {
		return runner.ErrOver
	}
	if why := schedule.WhyNever(s, from); why != "" {
		return fmt.Errorf("it never fires: %s", why)
	}
	c.ticker.Set(c.name, s, from, func(t schedule.Tick) {
		prev := int64(0)
		if !t.Prev.IsZero() {
			prev = t.Prev.UnixMilli()
		}
		tick(t.At.UnixMilli(), prev)
	})
	return nil
}

// Remove ends the ticks.
func (c *clock) Remove() { c.ticker.Remove(c.name) }

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

// Newest lists the newest of these, ascending.
func (c *clock) Newest(cron string, after, until int64, most int) ([]int64, error) {
	s, err := c.compile(cron)
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

// dealer asks a job's strategy, and the average one when that fails: items
// that nobody has would be worse than items that somebody else should have.
// Who thinks otherwise says so in the job.
type dealer struct {
	o      *Options
	module strategist      // asks the module of a job that has one
	work   *sync.WaitGroup // one for each question to a strategy
}

// strategist asks the module of a strategy; it answers with the index of the instance for
// each item.
type strategist func(ctx context.Context, c job.ShardCall) ([]int, error)

// dealTimeout is how long a strategy may take.
const dealTimeout = 10 * time.Second

// Deal returns the items of each instance; with an error, too, if they are not
// those that the strategy wants.
func (d *dealer) Deal(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error) {
	req := strategy.Request{Job: c.Name, Total: r.Total, Previous: r.Previous}
	for _, id := range r.Instances {
		req.Instances = append(req.Instances, string(id))
	}
	name := r.Strategy
	s, err := d.o.strategy(name)
	modular := d.module != nil && c.StrategyModule != ""
	if modular {
		name = "module " + c.StrategyModule
		s, err = moduleStrategy{d, c, r}, nil
	}
	var items [][]int
	if err == nil {
		items, err = d.ask(ctx, s, req)
	}
	if err == nil {
		return items, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	err = fmt.Errorf("%s: %w", cmp.Or(name, "average"), err)
	if modular && c.OnStrategyError == job.KeepOld {
		return nil, err
	}
	even, evenErr := strategy.Average(ctx, req)
	if evenErr != nil {
		return nil, errors.Join(err, evenErr)
	}
	return even, err
}

// moduleStrategy puts one question to a module.
type moduleStrategy struct {
	d *dealer
	c job.Config
	r protocol.AssignRequest
}

// Assign is part of strategy.Strategy.
func (s moduleStrategy) Assign(ctx context.Context, req strategy.Request) ([][]int, error) {
	c := job.ShardCall{Config: s.c, Namespace: s.d.o.Namespace, Total: req.Total, Previous: make([]int, req.Total), Log: s.d.o.Log.With("job", s.c.Name, "source", "strategy")}
	for i := range c.Previous {
		c.Previous[i] = -1
	}
	for k, id := range s.r.Instances {
		in := job.ShardInstance{ID: id}
		if k < len(s.r.Labels) {
			in.Labels = s.r.Labels[k]
		}
		c.Instances = append(c.Instances, in)
		for _, i := range s.r.Previous[k] {
			if i < len(c.Previous) {
				c.Previous[i] = k
			}
		}
	}
	owners, err := s.d.module(ctx, c)
	if err != nil {
		return nil, err
	}
	items := make([][]int, len(req.Instances))
	for i, k := range owners {
		if k < 0 || k >= len(items) {
			return nil, fmt.Errorf("item %d is given to instance %d of %d", i, k, len(items))
		}
		items[k] = append(items[k], i)
	}
	return items, nil
}

func (d *dealer) ask(ctx context.Context, s strategy.Strategy, req strategy.Request) ([][]int, error) {
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

// Write stores the batch everywhere. That one of them can never take a row does
// not keep it from the others.
func (s sinks) Write(ctx context.Context, batch []trace.Row) error {
	var refused error
	for _, sink := range s {
		err := sink.Write(ctx, batch)
		switch {
		case errors.Is(err, trace.ErrRow):
			refused = errors.Join(refused, err)
		case err != nil:
			return err
		}
	}
	return refused
}
