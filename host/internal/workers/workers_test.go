package workers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ job.Worker = (*Worker)(nil)

// acquireNow acquires a worker for a new run, which must not have to wait.
func acquireNow(t *testing.T, j *Job) *Worker {
	t.Helper()
	w := j.Worker()
	from := time.Now()
	if !w.AcquireFirst(t.Context(), nil) || time.Since(from) > 0 {
		t.Fatal("a worker was free and did not come at once")
	}
	return w
}

// fill makes a job take all workers of a pool and keep them.
func fill(t *testing.T, p *Pool) (endless []*Worker) {
	t.Helper()
	j := p.Job()
	for range p.Size() {
		endless = append(endless, acquireNow(t, j))
	}
	return endless
}

// idle checks that everything was returned.
func (p *Pool) idle(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != 0 || p.active != 0 || len(p.waiting) != 0 || p.timerRunning || p.nextExtra != 1 {
		t.Errorf("held %d, active %d, waiting %d, timed %v, extra %d after all", p.held, p.active, len(p.waiting), p.timerRunning, p.nextExtra)
	}
}

func release(workers ...*Worker) {
	for _, w := range workers {
		w.Release()
	}
}

func TestTheNextWorkerGoesToTheJobThatHasTheFewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(1)
		many, few, none := p.Job(), p.Job(), p.Job()
		one, two := acquireNow(t, many), acquireNow(t, few)
		order := make(chan string, 4)
		var runs sync.WaitGroup
		wait := func(name string, j *Job) {
			runs.Go(func() {
				w := j.Worker()
				if !w.AcquireFirst(t.Context(), nil) {
					t.Errorf("%s got no worker", name)
				}
				order <- name
				w.Release()
			})
			synctest.Wait()
		}
		wait("many", many)
		wait("few", few)
		wait("none", none)
		wait("many", many)
		two.Release()
		synctest.Wait()
		one.Release()
		runs.Wait()
		close(order)
		var got []string
		for name := range order {
			got = append(got, name)
		}
		// Among jobs without a worker, the one that has waited longest.
		if want := []string{"few", "none", "many", "many"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		p.idle(t)
	})
}

func TestRunsThatWereAtItGoBeforeThoseThatBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(1)
		j := p.Job()
		slept := acquireNow(t, j)
		slept.Release()
		now := acquireNow(t, j)
		order := make(chan string, 2)
		var runs sync.WaitGroup
		runs.Go(func() {
			w := j.Worker()
			w.AcquireFirst(t.Context(), nil)
			order <- "fresh"
			w.Release()
		})
		synctest.Wait()
		runs.Go(func() {
			if err := slept.Acquire(t.Context()); err != nil {
				t.Error(err)
			}
			order <- "begun"
			slept.Release()
		})
		synctest.Wait()
		now.Release()
		runs.Wait()
		if first := <-order; first != "begun" {
			t.Errorf("%s went first", first)
		}
		p.idle(t)
	})
}

func TestOneJobHasAllWorkersWhileNobodyElseWantsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(8)
		endless := fill(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if one := endless[0].job.Worker(); one.AcquireFirst(ctx, nil) {
			t.Error("there is a bound of 8, and a ninth run has begun")
		}
		release(endless...)
		p.idle(t)
	})
}

func TestEndlessRunsHoldUpNoOtherJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(4)
		endless := fill(t, p)
		for range 3 { // anew each time: extra workers are gone
			j, from := p.Job(), time.Now()
			var has []*Worker
			for k := range 2 { // its fair share
				w := j.Worker()
				if !w.AcquireFirst(t.Context(), nil) {
					t.Fatal("it did not begin")
				}
				if late := time.Since(from); late != time.Duration(k)*extraDelay {
					t.Errorf("worker %d was there after %s", k, late)
				}
				has = append(has, w)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if j.Worker().AcquireFirst(ctx, nil) {
				t.Error("it got more than its share beyond the size of the pool")
			}
			cancel()
			release(has...)
			if p.held != p.size {
				t.Errorf("%d workers are held by 4 runs", p.held)
			}
		}
		release(endless...)
		p.idle(t)
	})
}

func TestAHundredEndlessJobsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(8)
		var runs sync.WaitGroup
		began := time.Now()
		runUntil := began.Add(time.Second)
		for range 100 {
			j := p.Job()
			for range 20 {
				runs.Go(func() {
					ctx, cancel := context.WithDeadline(t.Context(), runUntil)
					defer cancel()
					if w := j.Worker(); w.AcquireFirst(ctx, nil) {
						<-ctx.Done()
						w.Release()
					}
				})
			}
		}
		synctest.Wait()
		w := p.Job().Worker() // as late as possible
		if !w.AcquireFirst(t.Context(), nil) {
			t.Fatal("it did not begin")
		}
		if late := time.Since(began); late > 50*time.Millisecond {
			t.Errorf("it began %s late", late)
		}
		if p.held > 2*p.size+101 {
			t.Errorf("%d runs at once", p.held)
		}
		w.Release()
		runs.Wait()
		p.idle(t)
	})
}

func TestRunsThatEndMakeRoomByThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(8)
		var runs sync.WaitGroup
		most := 0
		for range 1000 {
			j := p.Job()
			runs.Go(func() {
				w := j.Worker()
				if !w.AcquireFirst(t.Context(), nil) {
					t.Error("it did not begin")
				}
				time.Sleep(100 * time.Microsecond)
				p.mu.Lock()
				most = max(most, p.held)
				p.mu.Unlock()
				w.Release()
			})
		}
		runs.Wait()
		if most != 2*p.size {
			t.Errorf("%d runs at once, want %d", most, 2*p.size)
		}
		p.idle(t)
	})
}

func TestWhoIsEndedWhileItWaitsTakesNothingAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(1)
		j := p.Job()
		slept := acquireNow(t, j)
		slept.Release()
		now := acquireNow(t, j)
		stop := make(chan struct{})
		ctx, end := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		runs.Go(func() {
			if j.Worker().AcquireFirst(t.Context(), stop) {
				t.Error("it was stopped, and has begun")
			}
		})
		runs.Go(func() {
			if err := slept.Acquire(ctx); err == nil {
				t.Error("it was ended, and goes on")
			}
		})
		synctest.Wait()
		from := time.Now()
		close(stop)
		end()
		runs.Wait()
		if took := time.Since(from); took != 0 {
			t.Errorf("that took %s", took)
		}
		slept.Release() // the run has ended and holds none
		now.Release()
		release(acquireNow(t, j))
		p.idle(t)
	})
}

// Random runs neither lose workers nor get too many.
func TestWorkersAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(3)
		var runs sync.WaitGroup
		for k := range 8 {
			j := p.Job()
			for item := range 6 {
				random := rand.New(rand.NewPCG(uint64(k), uint64(item)))
				runs.Go(func() { walk(t, j, random) })
			}
		}
		runs.Wait()
		p.idle(t)
	})
}

// walk performs random runs.
func walk(t *testing.T, j *Job, random *rand.Rand) {
	some := func() time.Duration { return time.Duration(random.IntN(20)) * time.Millisecond }
	for range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), some())
		w := j.Worker()
		var of job.Worker = w
		if random.IntN(4) == 0 {
			of = w.Fork()
		}
		ok := w.AcquireFirst(ctx, nil)
		for random.IntN(3) > 0 && ok {
			<-time.After(some())
			of.Release()
			<-time.After(some())
			ok = of.Acquire(ctx) == nil
		}
		of.Release()
		w.Release()
		cancel()
		p := j.pool
		p.mu.Lock()
		if p.held > 2*p.size+8*p.size {
			t.Error(fmt.Errorf("%d runs at once", p.held))
		}
		p.mu.Unlock()
	}
}
