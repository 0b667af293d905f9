package runner

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// wedge is a log that blocks a job's loop at its next commit. A real log must not block.
type wedge struct {
	slog.Handler
	mu   sync.Mutex
	gate chan struct{} // nil if it blocks no loop
}

func (w *wedge) Enabled(context.Context, slog.Level) bool { return true }

func (w *wedge) WithAttrs([]slog.Attr) slog.Handler { return w }

func (w *wedge) Handle(_ context.Context, r slog.Record) error {
	w.mu.Lock()
	gate := w.gate
	w.mu.Unlock()
	if gate != nil && r.Message == "commit" {
		<-gate
	}
	return nil
}

// close arms the wedge until open is called.
func (w *wedge) close() (open func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gate := make(chan struct{})
	w.gate = gate
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gate = nil
		close(gate)
	}
}

// attempts are the guests of all servers. They check that no item runs twice at once.
type attempts struct {
	*testing.T
	mu      sync.Mutex
	running map[int]string // the server, by item
	begun   []string
	ended   []time.Time // ends of guests that were cut short
}

// take returns guests that run for d. A guest that is ended still takes the time late.
func (a *attempts) take(d, late time.Duration) guestFunc {
	return func(ctx context.Context, c job.Call) job.Outcome {
		a.mu.Lock()
		if other := a.running[c.Item]; other != "" {
			a.Errorf("item %d begins on %s and runs on %s", c.Item, c.Instance, other)
		}
		if a.running == nil {
			a.running = map[int]string{}
		}
		a.running[c.Item] = string(c.Instance)
		a.begun = append(a.begun, fmt.Sprintf("%d/%d on %s", c.Item, c.Attempt, c.Instance.IP()))
		a.mu.Unlock()
		done := session.Sleep(ctx, d)
		if !done {
			session.Sleep(context.WithoutCancel(ctx), late)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.running, c.Item)
		if !done {
			a.ended = append(a.ended, time.Now())
			return job.Outcome{Verdict: job.Stopped}
		}
		return job.Outcome{Verdict: job.OK}
	}
}

// progress returns the runs that have begun, and the end times of those cut short.
func (a *attempts) progress() (begun []string, ended []time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.begun), slices.Clone(a.ended)
}

// wedgeLoop blocks a server's loop in the middle of a commit, while nothing waits for the
// loop.
func (s *server) wedgeLoop(t *testing.T, w *wedge) (open func()) {
	t.Helper()
	open = w.close()
	asked := make(chan error, 1)
	go func() { asked <- s.Ask(t.Context(), protocol.AskReshard{}) }()
	synctest.Wait()
	if len(asked) != 0 {
		t.Errorf("a loop that is held up has answered: %v", <-asked)
	}
	return open
}

// The session's watcher ends guests at three quarters of the time-out although the loop
// stands still. When the loop goes on, it knows why they ended: they run again if the
// session still exists.
func TestGuestsEndWithoutTheLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loss job.OnRegistryLoss
		want map[trace.State]int
	}{
		{job.CancelOnLoss, map[trace.State]int{trace.Retried: 1, trace.Succeeded: 1}},
		{job.FinishOnLoss, map[trace.State]int{trace.Succeeded: 1}},
	} {
		t.Run(string(c.loss), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, w, guests := registrytest.NewFaulty(embedded.Memory(), nil), &book{}, &wedge{}, &attempts{T: t}
				reg.Grant(30 * time.Second)
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					o.Config.Cron, o.Config.Shards, o.Config.OnRegistryLoss, o.Config.ItemParams = "1h", 1, c.loss, ""
					o.Guests, o.Log = guests.take(10*time.Minute, 0), slog.New(w)
				})
				time.Sleep(time.Hour + time.Minute)
				open := s.wedgeLoop(t, w)
				away := time.Now()
				back := reg.Silence()
				time.Sleep(25 * time.Second) // the time-out is 30 s
				back()
				time.Sleep(4 * time.Second) // trusted again
				open()
				time.Sleep(30 * time.Minute)
				s.stop(t)
				if diff := cmp.Diff(c.want, rows.states()); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				if _, ended := guests.progress(); c.loss == job.FinishOnLoss {
					if len(ended) != 0 {
						t.Errorf("guests of a job that lets them finish were ended")
					}
				} else if len(ended) != 1 || ended[0].Sub(away) > 22500*time.Millisecond {
					t.Errorf("guests ended at %v, cut off at %v", ended, away)
				}
				must(t, reg.Close())
			})
		})
	}
}

// A loop is stuck while the session goes on. After the guests have ended, this server
// gives up the job, and another takes over the items. When the loop goes on, the job
// begins anew in the same session.
func TestWedgedLoop(t *testing.T) {
	t.Parallel()
	for _, loss := range []job.OnRegistryLoss{job.CancelOnLoss, job.FinishOnLoss} {
		t.Run(string(loss), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, w, guests := registrytest.NewFaulty(embedded.Memory(), nil), &book{}, &wedge{}, &attempts{T: t}
				reg.Grant(30 * time.Second)
				with := func(log *slog.Logger) func(*Options) {
					return func(o *Options) {
						o.Config.Cron, o.Config.OnRegistryLoss = "1h", loss
						o.Guests = guests.take(10*time.Minute, 4*time.Second)
						if log != nil {
							o.Log = log
						}
					}
				}
				a := serve(t, reg, rows, "10.0.0.1", with(slog.New(w)))
				b := serve(t, reg, rows, "10.0.0.2", with(nil))
				time.Sleep(time.Hour + time.Minute)
				open := a.wedgeLoop(t, w)
				time.Sleep(2 * time.Minute)
				if _, ended := guests.progress(); len(ended) != 0 {
					t.Fatal("a loop without messages has been given up")
				}
				waits := time.Now()
				must(t, b.Ask(t.Context(), protocol.AskItem{Item: 0, Disabled: true}))
				must(t, b.Ask(t.Context(), protocol.AskItem{Item: 0, Disabled: false}))
				time.Sleep(time.Minute)
				if got := a.Status().Troubles; len(got) != 1 || !strings.Contains(got[0].String(), "given up") {
					t.Errorf("troubles of what was given up: %q", got)
				}
				begun, ended := guests.progress()
				if len(begun) != 6 || len(ended) != 2 {
					t.Fatalf("begun %q, ended %v; want that two of four are taken over", begun, ended)
				}
				for i, at := range ended {
					if after := at.Sub(waits); after < 15*time.Second || after > 22*time.Second {
						t.Errorf("ended after %v", after)
					}
					if got := begun[4+i]; got[1:] != "/2 on 10.0.0.2" {
						t.Errorf("begun then: %s", got)
					}
				}
				open()
				time.Sleep(time.Hour)
				if got := a.Status(); got.Instance == "" || a.opened() != 1 || !hasItems(got) {
					t.Errorf("it has not come back: %d sessions, %+v", a.opened(), got)
				}
				a.stop(t)
				b.stop(t)
				rows.check(t, testJob, 4, time.Hour)
				must(t, reg.Close())
			})
		})
	}
}

// opened returns how many sessions were opened.
func (d *door) opened() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sessions)
}

// hasItems reports whether a server owns items.
func hasItems(s job.Status) bool {
	for _, it := range s.Items {
		if it.Owner == s.Instance {
			return true
		}
	}
	return false
}

// A job that lets its guests finish begins no waiting guest once other members may
// consider the session over.
func TestGuestThatWaitedBeginsNothingInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows, guests := registrytest.NewFaulty(embedded.Memory(), nil), &book{}, &attempts{T: t}
		reg.Grant(30 * time.Second)
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Config.Cron, o.Config.Shards, o.Config.ItemParams = "1h", 2, ""
			o.Config.Parallel, o.Config.OnRegistryLoss = 1, job.FinishOnLoss
			o.Guests = guests.take(time.Minute, 0)
		})
		time.Sleep(time.Hour + time.Second)
		back := reg.Silence()
		time.Sleep(20 * time.Minute)
		if begun, _ := guests.progress(); len(begun) != 1 {
			t.Errorf("begun %q, want one", begun)
		}
		back()
		time.Sleep(10 * time.Second)
		if begun, _ := guests.progress(); len(begun) != 2 {
			t.Errorf("begun %q, want both as the session was there after all", begun)
		}
		time.Sleep(10 * time.Minute)
		s.stop(t)
		if diff := cmp.Diff(map[trace.State]int{trace.Succeeded: 2}, rows.states()); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		must(t, reg.Close())
	})
}

// A session ends without previous doubt, for example because the service ended it. Guests
// end with it even if the loop hangs, since others begin the items at once.
func TestGuestsEndWithTheSessionWithoutTheLoop(t *testing.T) {
	t.Parallel()
	for _, loss := range []job.OnRegistryLoss{job.CancelOnLoss, job.FinishOnLoss} {
		t.Run(string(loss), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows, w, guests := registrytest.NewFaulty(embedded.Memory(), nil), &book{}, &wedge{}, &attempts{T: t}
				reg.Grant(30 * time.Second)
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
					o.Config.Cron, o.Config.Shards, o.Config.OnRegistryLoss, o.Config.ItemParams = "1h", 1, loss, ""
					o.Guests, o.Log = guests.take(10*time.Minute, 0), slog.New(w)
				})
				time.Sleep(time.Hour + time.Minute)
				open := s.wedgeLoop(t, w)
				over := time.Now()
				must(t, reg.EndSessions())
				synctest.Wait()
				if _, ended := guests.progress(); len(ended) != 1 || !ended[0].Equal(over) {
					t.Errorf("the session ended at %v, guests at %v", over, ended)
				}
				open()
				time.Sleep(time.Hour)
				s.stop(t)
				must(t, reg.Close())
			})
		})
	}
}
