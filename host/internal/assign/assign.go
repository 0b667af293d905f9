// Package assign applies the strategy of a job to assign items to instances. The strategy
// is built in, given by the caller, or a module. The package bounds the time of a
// strategy; it does not decide when items are assigned anew.
package assign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/strategy"
)

// Assigner applies a job's strategy, and the average one if that fails: items without an
// owner are worse than items with the wrong one. A job can choose otherwise with
// strategy_error.
type Assigner struct {
	Strategies map[string]strategy.Strategy // the caller's own, by name
	Module     Module                       // calls the strategy module of a job; nil if there are no modules
	Namespace  string                       // the namespace that a module sees
	Log        *slog.Logger                 // receives the log of a module
	Work       *sync.WaitGroup              // counts running strategies
}

// Module calls a strategy module; it returns the index of an instance for each item.
type Module func(ctx context.Context, c job.ShardCall) ([]int, error)

// Find finds a strategy by name. The caller's own have precedence.
func Find(own map[string]strategy.Strategy, name string) (strategy.Strategy, error) {
	if s := own[name]; s != nil {
		return s, nil
	}
	return strategy.Named(name)
}

// Known returns a function that reports whether Find finds a strategy by a name.
func Known(own map[string]strategy.Strategy) func(name string) bool {
	return func(name string) bool {
		_, err := Find(own, name)
		return err == nil
	}
}

// timeout is how long a strategy may take.
const timeout = 10 * time.Second

// Assign returns the items of each instance. If the strategy fails, it returns the error
// together with what the average strategy gives, unless the job keeps the old assignment then.
func (a *Assigner) Assign(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error) {
	req := strategy.Request{Job: c.Name, Total: r.Total, Previous: r.Previous}
	for _, id := range r.Instances {
		req.Instances = append(req.Instances, string(id))
	}
	name := r.Strategy
	s, err := Find(a.Strategies, name)
	modular := a.Module != nil && c.StrategyModule != ""
	if modular {
		name = "module " + c.StrategyModule
		s, err = moduleStrategy{a, c, r}, nil
	}
	var items [][]int
	if err == nil {
		items, err = a.ask(ctx, s, req)
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

// moduleStrategy is one call of a job's strategy module, for request r.
type moduleStrategy struct {
	a *Assigner
	c job.Config
	r protocol.AssignRequest
}

// Assign implements strategy.Strategy: it converts the request for the module, which knows
// the former owner of each item by its index among the instances (-1: none), and the answer
// to the items of each instance.
func (s moduleStrategy) Assign(ctx context.Context, req strategy.Request) ([][]int, error) {
	c := job.ShardCall{Config: s.c, Namespace: s.a.Namespace, Total: req.Total, Previous: make([]int, req.Total), Log: s.a.Log.With("job", s.c.Name, "source", "strategy")}
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
	owners, err := s.a.Module(ctx, c)
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

// ask calls a strategy, waits for at most timeout, and checks that the answer gives each item
// to one instance. A strategy that does not answer in time runs on; Work counts it.
func (a *Assigner) ask(ctx context.Context, s strategy.Strategy, req strategy.Request) ([][]int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type answer struct {
		items [][]int
		err   error
	}
	answers := make(chan answer, 1) // buffered, because a late answer is not read
	a.Work.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				answers <- answer{err: fmt.Errorf("panic: %v", p)}
			}
		}()
		items, err := s.Assign(ctx, req)
		answers <- answer{items, err}
	})
	select {
	case got := <-answers:
		if got.err != nil {
			return nil, got.err
		}
		return got.items, strategy.Check(req, got.items)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
