package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// beforeDelete is a session that calls a function before the first deletion of a node.
type beforeDelete struct {
	registry.Session
	path string
	by   func()
}

// Commit implements registry.Session.
func (s *beforeDelete) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	deletes := func(op registry.Op) bool { return op.Kind == registry.Delete && strings.HasSuffix(op.Path, s.path) }
	if s.by != nil && slices.ContainsFunc(ops, deletes) {
		by := s.by
		s.by = nil
		by()
	}
	return s.Session.Commit(ctx, ops...)
}

// The end of a maintenance does not end a pause that is requested after the job was read.
func TestEndOfMaintenanceIsOvertakenByAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := onceStage(t)
		o, other := operate(t, reg), operate(t, reg)
		if _, err := o.StartMaintenance(t.Context(), MaintenanceTerms{For: time.Hour, Jobs: []string{"j"}}); err != nil {
			t.Fatal(err)
		}
		o.session = &beforeDelete{o.session, "/paused", func() {
			if err := other.Pause(t.Context(), "j", PauseTerms{Why: "of its own"}); err != nil {
				t.Error(err)
			}
		}}
		if _, err := o.EndMaintenance(t.Context()); err != nil {
			t.Error(err)
		}
		if r, err := other.Job(t.Context(), "j"); err != nil || r.Pause.Why != "of its own" {
			t.Errorf("%+v, %v", r, err)
		}
		if err := errors.Join(o.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A job whose removal takes several transactions is not removed if an item begins right before them.
func TestRemoveIsOvertakenByARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, begun := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10}), make(chan struct{})
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", NoDrain: true, Jobs: []job.Config{{Name: "j", Shards: 1}},
			Runner: host.Func(func(ctx context.Context, _ job.Call) job.Outcome {
				close(begun)
				<-ctx.Done()
				return job.Outcome{Verdict: job.Stopped}
			}),
		})
		<-h.Ready()
		o := operate(t, reg)
		for i := range 3 * removal.AtOnce {
			put(t, o, registry.Create, fmt.Sprintf("/jobs/j/a%d", i), "")
		}
		o.session = &beforeDelete{o.session, "/j/config", func() {
			if err := h.Trigger(t.Context(), "j"); err != nil {
				t.Error(err)
			}
			<-begun
		}}
		wantCode(t, "it runs", o.Remove(t.Context(), "j", true), host.Refused)
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A member that joins right before, and runs an item, also prevents the removal.
func TestRemoveIsOvertakenByAMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, begun := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10}), make(chan struct{})
		serve := func() (*host.Host, func() error) {
			h, stop := start(t, host.Options{
				Registry: reg, Namespace: "jobs", NoDrain: true, Jobs: []job.Config{{Name: "j", Shards: 1}},
				Runner: host.Func(func(ctx context.Context, _ job.Call) job.Outcome {
					close(begun)
					<-ctx.Done()
					return job.Outcome{Verdict: job.Stopped}
				}),
			})
			<-h.Ready()
			return h, stop
		}
		_, stop := serve()
		if err := stop(); err != nil { // the job exists, and no server runs it
			t.Fatal(err)
		}
		o := operate(t, reg)
		for i := range 3 * removal.AtOnce {
			put(t, o, registry.Create, fmt.Sprintf("/jobs/j/a%d", i), "")
		}
		o.session = &beforeDelete{o.session, "/j/config", func() {
			var h *host.Host
			h, stop = serve()
			if err := h.Trigger(t.Context(), "j"); err != nil {
				t.Error(err)
			}
			<-begun
		}}
		err := o.Remove(t.Context(), "j", true)
		wantCode(t, "it runs", err, host.Refused)
		if n, unread := o.session.Read(t.Context(), "/jobs/j/config"); unread != nil || !n.Exists {
			t.Errorf("the definition is gone: %v, %v", err, unread)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}
