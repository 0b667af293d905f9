package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// late is a registry whose answers come as late as the test wants.
type late struct {
	registry.Registry
	mu    sync.Mutex // guards acked
	acked time.Time
}

type lateSession struct {
	registry.Session
	of *late
}

func (r *late) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	return lateSession{s, r}, err
}

func (s lateSession) Timeout() time.Duration { return 20 * time.Second }

func (s lateSession) Acknowledged() time.Time {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.of.acked
}

// answers lets what was sent a while ago be acknowledged now.
func (r *late) answers(sent time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = time.Now().Add(-sent)
}

// begin lets a trunk run on the registry, with one job.
func (r *late) begin(t *testing.T, slept func() time.Duration) (l *Line, hears *ears, stop func()) {
	t.Helper()
	trunk, hears := New(Options{Registry: r, Slept: slept}), &ears{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- trunk.Run(ctx) }()
	l, err := trunk.Open(ctx, "/a", hears)
	if err != nil {
		t.Fatal(err)
	}
	return l, hears, func() {
		err := l.Close(ctx)
		cancel()
		if err := errors.Join(err, <-done, r.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A late answer lets a session be trusted again for a moment, and what begins in that
// moment has to be stopped after it.
func TestDoubtIsToldAfterAMomentOfTrust(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := &late{Registry: embedded.Memory(), acked: time.Now()}
		l, hears, stop := reg.begin(t, nil)
		// Somebody looks each second while it is in doubt, the first time after 10 s.
		time.Sleep(13500 * time.Millisecond)
		for _, c := range []struct {
			sent  time.Duration
			asked Trust
			heard string
		}{
			{9900 * time.Millisecond, Trusted, "trust 0, trust 1"},
			{9999 * time.Millisecond, Trusted, "trust 0, trust 1"},
			{14900 * time.Millisecond, Doubtful, "trust 1, trust 2"},
		} {
			if c.asked == Doubtful {
				time.Sleep(6 * time.Second)
			}
			hears.all()
			reg.answers(c.sent)
			if got := l.Trust(); got != c.asked {
				t.Errorf("%v after what is answered was sent: trust %d, want %d", c.sent, got, c.asked)
			}
			time.Sleep(200 * time.Millisecond)
			if got := hears.all(); got != c.heard {
				t.Errorf("a moment later the job hears %q, want %q", got, c.heard)
			}
		}
		stop()
	})
}

// The moment can have passed before anybody but the job has looked.
func TestDoubtIsToldAfterTrustThatOneJobHasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := &late{Registry: embedded.Memory(), acked: time.Now()}
		var slept, looks atomic.Int64
		wakes := make(chan struct{})
		l, hears, stop := reg.begin(t, func() time.Duration {
			if looks.Add(-1) == 0 {
				<-wakes
			}
			return time.Duration(slept.Load())
		})
		time.Sleep(13500 * time.Millisecond)
		hears.all()
		reg.answers(9900 * time.Millisecond)
		looks.Store(2) // that of the job, and the next one
		if got := l.Trust(); got != Trusted {
			t.Errorf("trust %d", got)
		}
		synctest.Wait()
		slept.Store(int64(3 * time.Second))
		close(wakes)
		synctest.Wait()
		if got := hears.all(); got != "trust 1" {
			t.Errorf("the job hears %q", got)
		}
		stop()
	})
}
