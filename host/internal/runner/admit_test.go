package runner

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// endless is a guest that computes until it is ended.
var endless = guestFunc(func(ctx context.Context, _ job.Call) job.Outcome {
	<-ctx.Done()
	return job.Outcome{Verdict: job.Stopped}
})

// sleeps is a guest that waits and computes as little as possible.
func sleeps(d time.Duration) guestFunc {
	return func(ctx context.Context, c job.Call) job.Outcome {
		c.Worker.Release()
		ok := session.Sleep(ctx, d)
		if err := c.Worker.Acquire(ctx); err != nil || !ok {
			return job.Outcome{Verdict: job.Stopped}
		}
		return job.Outcome{Verdict: job.OK}
	}
}

// crowd counts the guests that run at once. Events cannot be counted instead: the end of
// one guest may be reported after the next has begun.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

// of wraps guests so that they are counted.
func (c *crowd) of(guests Guests) guestFunc {
	return func(ctx context.Context, call job.Call) job.Outcome {
		c.add(1)
		defer c.add(-1)
		return guests.Run(ctx, call)
	}
}

func (c *crowd) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

func TestGuestsThatWaitNeedNoWorker(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		parallel, most int
		ended          time.Duration // after the instant
	}{
		"as many as may have begun":       {0, 2 * guestsPerWorker, 15 * time.Second},
		"as many as the job wants":        {5, 5, 24 * time.Second},
		"more than usual, as it is asked": {36, 36, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, seen := embedded.Memory(), &book{}, &crowd{}
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					o.Workers, o.Guests = workers.New(2), seen.of(sleeps(3*time.Second))
					o.Config.Shards, o.Config.Parallel, o.Config.Cron = 36, tt.parallel, "40s"
				})
				time.Sleep(40*time.Second + tt.ended + time.Second)
				s.stop(t)
				if got := seen.most; got != tt.most {
					t.Errorf("%d guests at once, want %d", got, tt.most)
				}
				if got := rows.states()[trace.Succeeded]; got != 36 {
					t.Errorf("%d rows, want 36", got)
				}
				must(t, reg.Close())
			})
		})
	}
}

func TestANeighbourOfEndlessGuestsFiresInTime(t *testing.T) {
	t.Parallel()
	for name, guests := range map[string]Guests{"computing": endless, "asleep": sleeps(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, pool := embedded.Memory(), &book{}, workers.New(2)
				occupier := serve(t, reg, &book{}, "10.0.0.1", func(o *Options) {
					o.Workers, o.Guests, o.DrainTimeout = pool, guests, time.Second
					o.Config.Shards = 100
				})
				time.Sleep(15 * time.Second)
				from := time.Now()
				neighbour := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					o.Workers, o.Guests = pool, takes(10*time.Millisecond)
					o.Config.Name, o.Config.Cron, o.Config.Shards, o.Config.ItemParams = "neighbour", "1s", 1, ""
					o.Layout = layout.NewJob("test", "neighbour")
				})
				time.Sleep(15*time.Second + 500*time.Millisecond)
				neighbour.stop(t)
				fires := 0
				for len(neighbour.events) > 0 {
					e := <-neighbour.events
					if e.Kind != Start {
						continue
					}
					fires++
					if late := e.At.Sub(e.Scheduled); late > 20*time.Millisecond {
						t.Errorf("%s late at %s", late, e.Scheduled.Sub(from))
					}
				}
				if got := rows.states()[trace.Succeeded]; fires != 15 || got != 15 {
					t.Errorf("%d fires, %d rows", fires, got)
				}
				occupier.stop(t)
				must(t, reg.Close())
			})
		})
	}
}

// A guest that waits for a worker, to begin or to go on, ends with its session.
func TestGuestsThatWaitForAWorkerAreEndedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Workers = workers.New(1)
			o.Config.Shards = 12
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				if c.Item%2 == 0 {
					return endless(ctx, c)
				}
				return sleeps(time.Second)(ctx, c)
			})
		})
		time.Sleep(15 * time.Second)
		lost := time.Now()
		must(t, s.kill())
		synctest.Wait()
		begun, ended := 0, 0
		for len(s.events) > 0 {
			switch e := <-s.events; {
			case e.Kind == Start:
				begun++
			case e.At.Equal(lost):
				ended++
			}
		}
		if begun == 0 || begun == 12 || ended != begun {
			t.Errorf("of %d guests that had begun, %d were ended at once", begun, ended)
		}
		time.Sleep(3 * time.Second) // the next session writes the rest
		s.stop(t)
		must(t, reg.Close())
	})
}

// Commands of the operating system are counted separately and take no worker from guests.
func TestCommandsHaveWorkersOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, seen := embedded.Memory(), &book{}, &crowd{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Workers, o.Commands, o.Guests = workers.New(1), workers.New(2), seen.of(o.Guests)
			o.Config.Kind, o.Config.Command = job.Script, "rsync"
		})
		time.Sleep(15 * time.Second)
		s.stop(t)
		if got := seen.most; got != 2 {
			t.Errorf("%d commands at once, want 2", got)
		}
		must(t, reg.Close())
	})
}
