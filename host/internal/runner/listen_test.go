package runner

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// listener is a guest with listeners of fires. It records the calls.
type listener struct {
	guestFunc
	mu    sync.Mutex
	calls []context.Context
}

func (*listener) Listens() (started, completed bool) { return true, true }

func (l *listener) Run(ctx context.Context, c job.Call) job.Outcome {
	if c.Event == "" {
		return l.guestFunc(ctx, c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, ctx)
	return job.Outcome{Verdict: job.OK}
}

// Memory for a listener's call is freed with the call, since a server makes such calls
// for months.
func TestListenersLeaveNothing(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{"without limit": 0, "with one": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := embedded.Memory(), &book{}
				guests := &listener{guestFunc: takes(time.Second)}
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Guests, o.Config.Timeout = guests, limit })
				time.Sleep(35 * time.Second)
				synctest.Wait()
				guests.mu.Lock()
				if len(guests.calls) != 6 {
					t.Errorf("%d calls, want two for each of three fires", len(guests.calls))
				}
				for i, ctx := range guests.calls {
					if ctx.Err() == nil {
						t.Errorf("the context of call %d lives on", i)
					}
				}
				guests.mu.Unlock()
				s.stop(t)
				must(t, reg.Close())
			})
		})
	}
}

// A listener has the job's grace after its deadline, like a run.
func TestListenersHaveTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		guests := &listener{guestFunc: takes(time.Second)}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Guests, o.Config.Timeout, o.Config.Limits.Grace = guests, time.Minute, time.Hour
		})
		began := time.Now()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		guests.mu.Lock()
		if len(guests.calls) == 0 {
			t.Fatal("no listener was called")
		}
		if at, ok := guests.calls[0].Deadline(); !ok || at.Before(began.Add(time.Minute+time.Hour)) {
			t.Errorf("it is ended at %s at the latest, %v, after the begin at %s", at, ok, began)
		}
		guests.mu.Unlock()
		s.stop(t)
		must(t, reg.Close())
	})
}
