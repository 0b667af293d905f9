package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// toppled is a session whose server is replaced without noticing, while it holds the
// first transaction after the session was armed.
type toppled struct {
	registry.Session
	armed   *atomic.Bool
	commits *atomic.Int32
	topple  func()
}

func (s toppled) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	s.commits.Add(1)
	held := s.armed.Load()
	receipt, err := s.Session.Commit(ctx, ops...)
	if held && errors.Is(err, registry.ErrUnknown) {
		s.topple()
	}
	return receipt, err
}

// A transaction that such a server holds may still be applied. Reads from this server
// show that it was not, and must not settle its outcome.
func TestReadsOfADeposedLeaderSettleNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var armed atomic.Bool
		var commits, runs atomic.Int32
		reg := registrytest.NewFaulty(embedded.Memory(), func(int, []registry.Op) registrytest.Outcome {
			if armed.CompareAndSwap(true, false) {
				return registrytest.Delay
			}
			return registrytest.Pass
		})
		reg.Grant(time.Minute)
		held := make(chan func(), 1) // receives the function that ends the hold
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session {
			return toppled{s, &armed, &commits, func() { held <- reg.Depose() }}
		}}
		rows := &book{}
		s := serveThrough(t, d, rows, "10.0.0.1", func(o *Options) {
			o.Config.Cron, o.Config.Shards = "1h", 1
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				runs.Add(1)
				return takes(time.Second)(ctx, c)
			})
		})
		time.Sleep(time.Hour - time.Minute)
		armed.Store(true)
		before := commits.Load()
		time.Sleep(time.Minute + 20*time.Second) // the begin is held; the session is still trusted
		if commits.Load() != before+1 || runs.Load() != 0 {
			t.Errorf("%d commits and %d runs while the outcome of one is unknown", commits.Load()-before, runs.Load())
		}
		(<-held)()
		time.Sleep(time.Minute)
		if got := rows.states(); runs.Load() != 1 || got[trace.Succeeded] != 1 || len(got) != 1 {
			t.Errorf("%d runs, states %v", runs.Load(), got)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}
