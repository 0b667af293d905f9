package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

// unreadable is a registry that can refuse to read the nodes of the job first.
type unreadable struct {
	*registrytest.Faulty
	refuses atomic.Bool
}

type unreadableSession struct {
	registry.Session
	of *unreadable
}

func (u *unreadable) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := u.Faulty.Open(ctx, on)
	return unreadableSession{s, u}, err
}

func (s unreadableSession) Read(ctx context.Context, path string) (registry.Node, error) {
	if s.of.refuses.Load() && registry.Within(path, layout.NewJob(defaultNamespace, "first").Root()) {
		return registry.Node{}, errors.New("by plan")
	}
	return s.Session.Read(ctx, path)
}

// A job after another makes it record how instants end, although the first attempts are lost
// and nothing else changes meanwhile. It can wait for the first instant.
func TestJobBeforeIsMarkedInTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plain, c := embedded.Memory(), &chained{}
		_, stopFirst := start(t, Options{Registry: plain, Instance: "10.0.0.1@-@1", Jobs: []job.Config{first}, Runner: c})
		time.Sleep(10 * time.Second)
		lost := 0
		h, stopSecond := start(t, Options{
			Registry: registrytest.NewFaulty(plain, func(_ int, ops []registry.Op) registrytest.Outcome {
				if lost == 3 || !strings.HasPrefix(ops[0].Path, layout.NewJob(defaultNamespace, "first").Root()) {
					return registrytest.Pass
				}
				lost++
				return registrytest.LoseRequest
			}),
			Instance: "10.0.0.2@-@1", Jobs: []job.Config{second}, Runner: c,
		})
		one := minute(1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := c.of("second"), []string{"second/0 " + one, "second/1 " + one}; lost != 3 || !slices.Equal(got, want) {
			t.Errorf("%d marks were lost, and the job has run %q, want %q", lost, got, want)
		}
		if got := h.Jobs()[0].Troubles; len(got) > 0 {
			t.Errorf("troubles %v", got)
		}
		if err := errors.Join(stopSecond(), stopFirst(), plain.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A job before that could not be read for a while is no trouble any more once it can, although
// nothing in it has changed.
func TestJobBeforeIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := &unreadable{Faulty: registrytest.NewFaulty(embedded.Memory(), nil)}
		rare := first
		rare.Cron = "0 0 0 1 1 ?"
		_, stopFirst := start(t, Options{Registry: reg, Instance: "10.0.0.1@-@1", Jobs: []job.Config{rare}, Runner: &chained{}})
		h, stopSecond := start(t, Options{Registry: reg, Instance: "10.0.0.2@-@1", Jobs: []job.Config{second}, Runner: &chained{}})
		troubles := func() []reason.Reason {
			time.Sleep(time.Minute)
			synctest.Wait()
			return h.Jobs()[0].Troubles
		}
		if got := troubles(); len(got) > 0 {
			t.Errorf("troubles %v", got)
		}
		reg.refuses.Store(true)
		reg.Suspend()
		reg.Resume()
		if got := troubles(); len(got) != 1 || got[0].Code != reason.AfterUnread {
			t.Errorf("troubles %v, want that the job before cannot be read", got)
		}
		reg.refuses.Store(false)
		if got := troubles(); len(got) > 0 {
			t.Errorf("troubles %v of a job that can be read again", got)
		}
		if err := errors.Join(stopSecond(), stopFirst(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
