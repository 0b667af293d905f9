package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A job written in Go may ignore its context. The server must then say what it waits for.
func TestGuestThatIgnoresItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var log lockedBuffer
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			o.Guests = guestFunc(func(ctx context.Context, c job.Call) job.Outcome {
				if c.Item == 3 && c.Attempt == 1 && c.Scheduled.Unix()%3600 == 10 {
					time.Sleep(time.Minute)
				}
				return job.Outcome{Verdict: job.OK}
			})
		})
		time.Sleep(12 * time.Second)
		must(t, s.kill())
		time.Sleep(10 * time.Second)
		if got := s.Status().Troubles; !slices.ContainsFunc(got, func(r reason.Reason) bool {
			return strings.Contains(r.String(), "item 3 of nightly, ended at 2000-01-01T00:00:12Z")
		}) {
			t.Errorf("troubles %q, want item and time", got)
		}
		time.Sleep(2 * time.Minute)
		if got := s.Status().Troubles; len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		s.stop(t)
		if !strings.Contains(log.String(), "ignores its end") || !strings.Contains(log.String(), "returned at last") {
			t.Errorf("the log does not tell:\n%s", log.String())
		}
		must(t, reg.Close())
	})
}

// brokenDisk is a session whose service has stopped taking writes.
type brokenDisk struct {
	registry.Session
	broken *atomic.Bool
}

func (s brokenDisk) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.broken.Load() {
		return registry.Receipt{}, fmt.Errorf("%w: %w", registry.ErrReadOnly, errDisk)
	}
	return s.Session.Commit(ctx, ops...)
}

func (s brokenDisk) Sync(ctx context.Context) error {
	if s.broken.Load() {
		return fmt.Errorf("%w: %w", registry.ErrReadOnly, errDisk)
	}
	return s.Session.Sync(ctx)
}

func (s brokenDisk) Persist(ctx context.Context) error { return s.Sync(ctx) }

func TestRegistryThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var log lockedBuffer
		var broken atomic.Bool
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return brokenDisk{s, &broken} }}
		s := serveThrough(t, d, rows, "10.0.0.1", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(15 * time.Second)
		broken.Store(true)
		time.Sleep(time.Minute)
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0].String(), "read-only") {
			t.Errorf("troubles %q, want one that says why", got)
		}
		if strings.Contains(log.String(), "unknown") || strings.Count(log.String(), "level=ERROR") != 1 {
			t.Errorf("the log, want one error:\n%s", log.String())
		}
		broken.Store(false) // repaired
		time.Sleep(30 * time.Second)
		if got := s.Status().Troubles; len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		for _, r := range rows.sorted() {
			if r.State == trace.Missed && r.Count > 1 && r.Reason.Code != reason.RegistryReadOnly {
				t.Errorf("missed, and it does not say why: %+v", r)
			}
		}
		if rows.states()[trace.Missed] < 4 {
			t.Error("not every item has missed something")
		}
		must(t, reg.Close())
	})
}

// The session is lost with open runs, and the server stops before it has another session.
// The open runs stay for the next start, and Run reports that.
func TestStopWithoutSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var shut atomic.Bool
		s := serve(t, registrytest.Unreachable{Registry: reg, Away: shut.Load}, rows, "10.0.0.1", func(o *Options) {
			o.Guests = takes(8 * time.Second)
		})
		time.Sleep(12 * time.Second)
		shut.Store(true)
		must(t, s.kill())
		time.Sleep(5 * time.Second)
		s.cancel()
		<-s.done
		if !errors.Is(s.err, ErrUnsafe) {
			t.Errorf("got %v, want ErrUnsafe", s.err)
		}
		must(t, reg.Close())
	})
}

func TestDisabledIsForNewServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		warned := func(disabled bool) bool {
			var log lockedBuffer
			s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
				o.Config.Disabled = disabled
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			time.Sleep(time.Second)
			s.stop(t)
			return strings.Contains(log.String(), "disabled = true has no effect")
		}
		if warned(false) || !warned(true) {
			t.Error("want a warning from the server that wants to be disabled and is not")
		}
		must(t, reg.Close())
	})
}

// Requests whose callers have gone do not accumulate while nothing can be written.
func TestAskIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		var broken atomic.Bool
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return brokenDisk{s, &broken} }}
		s := serveThrough(t, d, &book{}, "10.0.0.1", func(o *Options) { o.Config.Cron = "" })
		time.Sleep(time.Second)
		broken.Store(true)
		for range 3 * maxAsks {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := s.Ask(ctx, protocol.AskItem{Item: 1, Disabled: true}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			cancel()
		}
		broken.Store(false)
		time.Sleep(time.Minute)
		if s.Status().Items[1].Disabled {
			t.Error("a request is carried out long after its caller has gone")
		}
		s.stop(t)
		must(t, reg.Close())
	})
}
