package session

import (
	"context"
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

// answers acknowledges a transaction that was sent the given time ago.
func (r *late) answers(sent time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = time.Now().Add(-sent)
}

// begin runs a server's session on the registry, with one job.
func (r *late) begin(t *testing.T, slept func() time.Duration) (j *Job, events *recorder, stop func()) {
	t.Helper()
	server := New(Options{Registry: r, Slept: slept})
	end := startServer(t, server)
	j, events = openOn(t, server, "/a")
	return j, events, func() {
		closeJob(t, j)
		end()
	}
}

// A late answer makes a session trusted for a moment. Runs that begin in that moment must
// be stopped after it.
func TestDoubtIsReportedAfterAMomentOfTrust(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := &late{Registry: embedded.Memory(), acked: time.Now()}
		j, events, stop := reg.begin(t, nil)
		// The watcher checks each second while the session is doubtful, first after 10 s.
		time.Sleep(13500 * time.Millisecond)
		for _, c := range []struct {
			sent     time.Duration
			asked    Health
			received string
		}{
			{9900 * time.Millisecond, Trusted, "health 0, health 1"},
			{9999 * time.Millisecond, Trusted, "health 0, health 1"},
			{14900 * time.Millisecond, Doubtful, "health 1, health 2"},
		} {
			if c.asked == Doubtful {
				time.Sleep(6 * time.Second)
			}
			events.all()
			reg.answers(c.sent)
			if got := j.Health(); got != c.asked {
				t.Errorf("%v after what is answered was sent: health %d, want %d", c.sent, got, c.asked)
			}
			time.Sleep(200 * time.Millisecond)
			if got := events.all(); got != c.received {
				t.Errorf("a moment later the job receives %q, want %q", got, c.received)
			}
		}
		stop()
	})
}

// The moment may pass before anything but the job has checked.
func TestDoubtIsReportedAfterTrustThatOneJobHasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := &late{Registry: embedded.Memory(), acked: time.Now()}
		var slept, looks atomic.Int64
		wakes := make(chan struct{})
		j, events, stop := reg.begin(t, func() time.Duration {
			if looks.Add(-1) == 0 {
				<-wakes
			}
			return time.Duration(slept.Load())
		})
		time.Sleep(13500 * time.Millisecond)
		events.all()
		reg.answers(9900 * time.Millisecond)
		looks.Store(2) // the check of the job, and the next one
		if got := j.Health(); got != Trusted {
			t.Errorf("health %d", got)
		}
		synctest.Wait()
		slept.Store(int64(3 * time.Second))
		close(wakes)
		synctest.Wait()
		if got := events.all(); got != "health 1" {
			t.Errorf("the job receives %q", got)
		}
		stop()
	})
}
