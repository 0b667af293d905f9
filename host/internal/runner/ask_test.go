package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// Two operators ask two servers in quick succession, and the second server has not yet
// received the change that the first one made.
func TestAskGoesByWhatTheRegistryHas(t *testing.T) {
	t.Parallel()
	const ip = "10.0.0.1"
	for name, c := range map[string]struct {
		first, second protocol.Ask
		done          func(*protocol.View) bool
	}{
		"item enabled": {
			protocol.AskItem{Item: 1, Disabled: true}, protocol.AskItem{Item: 1},
			func(v *protocol.View) bool { return !v.Items[1].Disabled },
		},
		"server enabled": {
			protocol.AskServer{IP: ip, Disabled: true}, protocol.AskServer{IP: ip},
			func(v *protocol.View) bool { return !v.Servers[0].Disabled },
		},
		"resumed": {
			protocol.AskPause{Paused: true}, protocol.AskPause{},
			func(v *protocol.View) bool { return !v.Paused },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := embedded.Memory(), &book{}
				far := newNetwork(reg, 20*time.Second, rand.New(rand.NewPCG(1, 2)))
				far.ended = func(*remote) {}
				a := serve(t, reg, rows, ip, nil)
				b := serve(t, far, rows, "10.0.0.2", nil)
				<-a.Joined()
				<-b.Joined()
				time.Sleep(25 * time.Second)
				far.change(func(n *network) { n.slowest = 3 * time.Second })
				must(t, a.Ask(t.Context(), c.first))
				must(t, b.Ask(t.Context(), c.second))
				far.sound()
				time.Sleep(10 * time.Second)
				if !c.done(a.snapshot.Load().view) || !c.done(b.snapshot.Load().view) {
					t.Error("what was asked for last is not done")
				}
				b.stop(t)
				a.stop(t)
				must(t, reg.Close())
			})
		})
	}
}

// If the registry takes no writes for a moment and only an operator asks for something,
// instants that pass later do not give that as their reason.
func TestAskWhileNothingIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var broken atomic.Bool
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return brokenDisk{s, &broken} }}
		s := serveThrough(t, d, rows, "10.0.0.1", func(o *Options) { o.Guests = takes(15 * time.Second) })
		time.Sleep(12 * time.Second)
		broken.Store(true)
		time.AfterFunc(time.Second, func() { broken.Store(false) })
		must(t, s.Ask(t.Context(), protocol.AskPause{})) // it is not paused
		if at := time.Now().UTC().Second(); at >= 20 {
			t.Fatalf("answered at %d s, want before the next instant", at)
		}
		time.Sleep(25 * time.Second)
		s.stop(t)
		var missed int
		for _, r := range rows.sorted() {
			if r.State != trace.Missed || r.Count == 0 {
				continue
			}
			if missed++; r.Reason.Code != reason.StillRunning {
				t.Errorf("missed because of %s, want the run before: %+v", r.Reason.Code, r)
			}
		}
		if missed == 0 {
			t.Error("nothing was missed")
		}
		must(t, reg.Close())
	})
}

// A trigger waits for no sync: its transaction is refused if the view lacks an owner.
func TestTriggerWaitsForNoSync(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var broken atomic.Bool
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return stuckSync{s, &broken} }}
		s := serveThrough(t, d, rows, "10.0.0.1", func(o *Options) { o.Config.Cron = "" })
		<-s.Joined()
		synctest.Wait()
		broken.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		must(t, s.Ask(ctx, protocol.AskTrigger{}))
		time.Sleep(5 * time.Second)
		if rows.states()[trace.Succeeded] == 0 {
			t.Error("nothing was run")
		}
		broken.Store(false)
		s.stop(t)
		must(t, reg.Close())
	})
}

// An ask that waits for a sync is answered when its member ends, and delays nothing.
func TestAskThatWaitsIsAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *server)
		want error
	}{
		"server stops":    {func(t *testing.T, s *server) { s.stop(t) }, ErrSession},
		"session is lost": {func(t *testing.T, s *server) { must(t, s.kill()) }, ErrSession},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := embedded.Memory()
				var broken atomic.Bool
				d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return stuckSync{s, &broken} }}
				s := serveThrough(t, d, &book{}, "10.0.0.1", func(o *Options) { o.Config.Cron = "" })
				<-s.Joined()
				synctest.Wait()
				broken.Store(true)
				answers := make(chan error, 3)
				for range 3 {
					go func() { answers <- s.Ask(t.Context(), protocol.AskItem{Item: 1, Disabled: true}) }()
				}
				time.Sleep(5 * time.Second)
				broken.Store(false)
				c.end(t, s)
				for range 3 {
					if err := <-answers; !errors.Is(err, c.want) {
						t.Errorf("answered %v, want %v", err, c.want)
					}
				}
				s.cancel()
				<-s.done
				must(t, reg.Close())
			})
		})
	}
}

// stuckSync is a session whose syncs hang while stuck is set, until their context ends.
type stuckSync struct {
	registry.Session
	stuck *atomic.Bool
}

func (s stuckSync) Sync(ctx context.Context) error {
	if !s.stuck.Load() {
		return s.Session.Sync(ctx)
	}
	<-ctx.Done()
	return ctx.Err()
}
