package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

func TestDoubtStopsGuestsAndStartsThemAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		deaf bool // the guest does not stop when asked
		by   time.Duration
	}{
		{"guests stop when asked", false, 15*time.Second + 100*time.Millisecond},
		{"guests are ended", true, 15*time.Second + defaultGrace + 100*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := registrytest.NewFaulty(embedded.Memory(), nil), &book{}
				reg.Grant(30 * time.Second)
				var mu sync.Mutex
				var stopped []time.Duration
				var calls atomic.Int32
				began := time.Now()
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					o.Config.Cron, o.Config.Shards = "1h", 1
					o.Guests = guestFunc(func(ctx context.Context, c2 job.Call) job.Outcome {
						if calls.Add(1) > 1 {
							return takes(time.Minute)(ctx, c2)
						}
						for c.deaf || c2.Why() == job.Continue {
							if !session.Sleep(ctx, 100*time.Millisecond) {
								break
							}
						}
						mu.Lock()
						defer mu.Unlock()
						stopped = append(stopped, time.Since(began))
						if c2.Why() != job.StopSessionLost {
							t.Errorf("asked to stop for %v, want that the session is lost", c2.Why())
						}
						return job.Outcome{Verdict: job.Failure}
					})
				})
				time.Sleep(time.Hour + 2*time.Second)
				away := time.Since(began)
				back := reg.Silence()
				time.Sleep(time.Minute)
				if got := s.allTroubles(); len(got) == 0 {
					t.Error("no trouble is shown")
				}
				back()
				time.Sleep(5 * time.Minute)
				s.stop(t)
				// The time-out is 30 s.
				if len(stopped) != 1 || stopped[0]-away < 15*time.Second || stopped[0]-away > c.by {
					t.Errorf("the guest stopped after %v", stopped)
				}
				want := map[trace.State]int{trace.Retried: 1, trace.Succeeded: 1}
				if diff := cmp.Diff(want, rows.states()); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				must(t, reg.Close())
			})
		})
	}
}

// forgetful is a session that sometimes loses the answer to a commit, either before or
// after the commit was applied.
type forgetful struct {
	registry.Session
	n *atomic.Int32
}

func (s forgetful) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	n := s.n.Add(1)
	if n%7 == 3 {
		return registry.Receipt{}, registry.ErrUnknown
	}
	receipt, err := s.Session.Commit(ctx, ops...)
	if n%5 == 2 && err == nil {
		return registry.Receipt{}, registry.ErrUnknown
	}
	return receipt, err
}

func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var n atomic.Int32
		flaky := func() *door {
			return &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return forgetful{s, &n} }}
		}
		n.Store(4) // the namespace is created without the retry loop
		a := serveThrough(t, flaky(), rows, "10.0.0.1", nil)
		b := serveThrough(t, flaky(), rows, "10.0.0.2", nil)
		time.Sleep(10 * time.Minute)
		a.stop(t)
		b.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		if got := rows.states(); got[trace.Succeeded] < 200 || got[trace.Missed] > 8 {
			t.Errorf("states %v", got)
		}
		must(t, reg.Close())
	})
}

// stubborn is a session that refuses everything that a job writes.
type stubborn struct {
	registry.Session
	commits *atomic.Int32
}

func (s stubborn) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if len(ops) == 1 {
		return s.Session.Commit(ctx, ops...)
	}
	s.commits.Add(1)
	return registry.Receipt{}, &registry.ConflictError{Op: ops[0], Reason: registry.NodeExists}
}

func TestRefusalsDoNotBecomeABusyCircle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		var commits atomic.Int32
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return stubborn{s, &commits} }}
		s := serveThrough(t, d, &book{}, "10.0.0.1", nil)
		time.Sleep(10 * time.Minute)
		if n := commits.Load(); n > 100 {
			t.Errorf("%d commits in ten minutes", n)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

func TestRegistryThatComesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		s := serve(t, registrytest.Unreachable{Registry: reg, Away: registrytest.Until(time.Now().Add(time.Minute))}, &book{}, "10.0.0.1", nil)
		time.Sleep(30 * time.Second)
		if got := s.allTroubles(); len(got) != 1 {
			t.Errorf("troubles %q, want one", got)
		}
		asked := make(chan error)
		go func() { asked <- s.Ask(t.Context(), protocol.AskPause{Paused: true}) }()
		time.Sleep(time.Minute)
		must(t, <-asked) // it waited for the session
		if got := s.Status(); got.Instance == "" || len(s.allTroubles()) != 0 || !got.Paused {
			t.Errorf("status %+v", got)
		}
		s.stop(t)

		s = serve(t, registrytest.Unreachable{Registry: reg, Away: registrytest.Until(time.Now().Add(time.Hour))}, &book{}, "10.0.0.1", nil)
		time.Sleep(time.Minute)
		s.stop(t) // also while it waits
		must(t, reg.Close())
	})
}
