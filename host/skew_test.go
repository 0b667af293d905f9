package host

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// wrongClock is a registry whose clock is ahead.
type wrongClock struct {
	registry.Registry
	ahead atomic.Int64
	asked atomic.Int64
}

type wrongSession struct {
	registry.Session
	of *wrongClock
}

func (w *wrongClock) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := w.Registry.Open(ctx, on)
	return wrongSession{s, w}, err
}

func (s wrongSession) Time(ctx context.Context) (time.Time, error) {
	s.of.asked.Add(1)
	t, err := s.Session.Time(ctx)
	return t.Add(time.Duration(s.of.ahead.Load())), err
}

// A server whose clock differs from the registry's by more than the job allows begins nothing
// and says why, until the clock is set right. It does not ask for the time at each run.
func TestClockThatDiffers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := &wrongClock{Registry: embedded.Memory()}, &pile{}
		reg.ahead.Store(int64(5 * time.Second))
		h, stop := start(t, Options{
			Registry: reg, Runner: Func(fine), Sinks: []trace.Sink{rows},
			Jobs: []job.Config{{Name: "j", Cron: "0/10 * * * * ?", Shards: 1, MaxClockSkew: 2 * time.Second}},
		})
		<-h.Ready()
		time.Sleep(5 * time.Minute)
		s := h.Jobs()[0]
		if n := rows.count("j", trace.Succeeded); n != 0 || len(s.Troubles) != 1 || !strings.Contains(s.Troubles[0].String(), "clock") {
			t.Errorf("%d runs, troubles %q", n, s.Troubles)
		}
		reg.ahead.Store(0)
		time.Sleep(2 * time.Minute)
		if n := rows.count("j", trace.Succeeded); n < 6 || len(h.Jobs()[0].Troubles) != 0 {
			t.Errorf("%d runs, troubles %q", n, h.Jobs()[0].Troubles)
		}
		if n := reg.asked.Load(); n < 2 || n > 8 {
			t.Errorf("the time was asked for %d times in 7 minutes", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A job fires once a day. If the registry's clock is an hour behind, the instant waits until
// that clock is near; if it is ahead, the instant begins at once. The status shows both clocks.
func TestDailyJobAndTheRegistrysClock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ahead  time.Duration
		atHalf int // runs by half past twelve
	}{
		"behind": {-time.Hour, 0},
		"ahead":  {time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := &wrongClock{Registry: embedded.Memory()}, &pile{}
				reg.ahead.Store(int64(tt.ahead))
				time.Sleep(11 * time.Hour)
				h, stop := start(t, Options{
					Registry: reg, Runner: Func(fine), Sinks: []trace.Sink{rows},
					Jobs: []job.Config{{Name: "j", Cron: "0 0 12 * * ?", TimeZone: "UTC", Shards: 2, MaxClockSkew: -1}},
				})
				<-h.Ready()
				time.Sleep(90 * time.Minute)
				if n := rows.count("j", trace.Succeeded); n != 2*tt.atHalf {
					t.Errorf("%d items ran by half past twelve", n)
				}
				time.Sleep(31 * time.Minute)
				if n := rows.count("j", trace.Succeeded); n != 2 {
					t.Errorf("%d items ran by one", n)
				}
				s := h.Jobs()[0].Troubles
				if len(s) != 1 || !strings.Contains(s[0].String(), "registry's 2000-01-01") {
					t.Errorf("troubles %q", s)
				}
				time.Sleep(24 * time.Hour)
				if n := rows.count("j", trace.Succeeded) + rows.count("j", trace.Missed); n != 4 {
					t.Errorf("%d rows after two days", n)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				if err := reg.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
