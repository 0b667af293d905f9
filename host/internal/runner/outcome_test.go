package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A trigger without an answer may have been written. Writing another would run the job
// twice for one request.
func TestTriggerWithoutAnswerIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int32
		requests := func(op registry.Op) bool { return string(op.Data) == "TRIGGER" }
		reg, rows := registrytest.NewFaulty(embedded.Memory(), func(_ int, ops []registry.Op) registrytest.Outcome {
			if slices.ContainsFunc(ops, requests) && lost.Add(1) == 1 {
				return registrytest.LoseReply
			}
			return registrytest.Pass
		}), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Config.Cron = "" })
		<-s.Joined()
		time.Sleep(time.Second)
		if err := s.Ask(t.Context(), protocol.AskTrigger{}); !errors.As(err, new(*Refusal)) || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("got %v, want that it is unknown", err)
		}
		time.Sleep(time.Minute)
		if n, got := lost.Load(), rows.states(); n != 1 || got[trace.Succeeded] != 4 || len(got) != 1 {
			t.Errorf("written %d times, states %v", n, got)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// lossy is a registry that loses the answer to the begin of a run and the resulting
// events, as a server may that loses its connections.
type lossy struct {
	registry.Registry
	begun atomic.Int32

	mu  sync.Mutex // guards off
	off bool
}

func (u *lossy) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := u.Registry.Open(ctx, func(e registry.Event) {
		if e.Kind != registry.Changed || !u.losesEvents(nil) {
			on(e)
		}
	})
	return lossySession{s, u}, err
}

// losesEvents sets, unless set is nil, whether events get lost, and returns it.
func (u *lossy) losesEvents(set *bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if set != nil {
		u.off = *set
	}
	return u.off
}

type lossySession struct {
	registry.Session
	*lossy
}

func (s lossySession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	begins := func(op registry.Op) bool {
		return op.Kind == registry.CreateEphemeral && strings.HasSuffix(op.Path, "/running")
	}
	if !slices.ContainsFunc(ops, begins) {
		return s.Session.Commit(ctx, ops...)
	}
	s.begun.Add(1)
	s.losesEvents(new(true))
	defer s.losesEvents(new(false))
	_, err := s.Session.Commit(ctx, ops...)
	if err = errors.Join(err, s.Sync(ctx)); err != nil {
		return registry.Receipt{}, err
	}
	return registry.Receipt{}, registry.ErrUnknown
}

// The outcome of a commit without an answer is determined by a read, not by events or the
// refusal of the next commit: the run that it began counts as begun.
func TestOutcomeIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := &lossy{Registry: embedded.Memory()}, &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Config.Cron = "1h" })
		time.Sleep(time.Hour + time.Minute)
		if n, got := reg.begun.Load(), rows.states(); n != 1 || got[trace.Succeeded] != 4 {
			t.Errorf("begun %d times, states %v; want that all four items ran at once", n, got)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// frozen is a session on a machine that stands still: recent times lie far back, and the
// timer of the session's watcher has not fired. Its time-out becomes short when the timer
// is set.
type frozen struct {
	registry.Session
	since   *atomic.Int64 // in ms; 0 if it does not stand still
	commits *atomic.Int32
}

func (f frozen) Timeout() time.Duration {
	if f.since.Load() != 0 {
		return 4 * time.Second
	}
	return time.Minute
}

func (f frozen) Acknowledged() time.Time {
	if at := f.since.Load(); at != 0 {
		return time.UnixMilli(at)
	}
	return time.Now()
}

func (f frozen) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	f.commits.Add(1)
	return f.Session.Commit(ctx, ops...)
}

// After a freeze a process checks the clock first, whichever message comes first.
func TestStepAfterAFreeze(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var since atomic.Int64
		var commits atomic.Int32
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return frozen{s, &since, &commits} }}
		s := serveThrough(t, d, rows, "10.0.0.1", nil)
		time.Sleep(15 * time.Second)
		before := commits.Load()
		since.Store(time.Now().UnixMilli())
		time.Sleep(6 * time.Second) // an instant comes after five
		if n := commits.Load() - before; n != 0 {
			t.Errorf("%d commits in a session that may be over", n)
		}
		since.Store(0)
		time.Sleep(time.Minute)
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}
