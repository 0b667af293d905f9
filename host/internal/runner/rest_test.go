package runner

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/removal"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

// leaveRest creates what an interrupted removal leaves: a pause, and the state of an
// item.
func leaveRest(t *testing.T, reg registry.Registry) (state string) {
	t.Helper()
	s, err := reg.Open(t.Context(), nil)
	must(t, err)
	l := layout.NewJob("test", testJob)
	wasm, mark := l.Removal()
	above, state := l.StateOf(0)
	for _, path := range slices.Concat(l.Namespace(), []string{l.Root(), wasm, mark, wasm + "/paused"}, above, []string{state}) {
		if n, err := s.Read(t.Context(), path); err == nil && n.Exists {
			continue
		}
		_, err := s.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: path})
		must(t, err)
	}
	must(t, s.Close())
	return state
}

// Two servers whose files have a job delete the rest of its earlier removal. Neither the
// rest's pause nor its state becomes part of the new job.
func TestRestOfARemovalIsNoJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		state := leaveRest(t, reg)
		a, b := serve(t, reg, rows, "10.0.0.1", nil), serve(t, reg, rows, "10.0.0.2", nil)
		<-a.Joined()
		<-b.Joined()
		time.Sleep(15 * time.Second)
		operator, err := reg.Open(t.Context(), nil)
		must(t, err)
		n, err := operator.Read(t.Context(), state)
		must(t, err)
		for _, s := range []*server{a, b} {
			if st := s.Status(); n.Exists || st.Paused || st.Instance == "" || len(st.Troubles) > 0 || len(st.Items) != 4 || st.Items[0].LastBegin.IsZero() {
				t.Errorf("state %v, %+v", n.Exists, st)
			}
			s.stop(t)
		}
		must(t, operator.Close())
		must(t, reg.Close())
	})
}

// A rest that cannot be deleted is a trouble of that job, but the server becomes ready.
func TestRestThatStaysIsATrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var state string
		var denied atomic.Bool
		reg, rows := registrytest.NewFaulty(embedded.Memory(), func(_ int, ops []registry.Op) registrytest.Outcome {
			if denied.Load() && slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Kind == registry.Delete && op.Path == state }) {
				return registrytest.Deny
			}
			return registrytest.Pass
		}), &book{}
		state = leaveRest(t, reg)
		denied.Store(true)
		s := serve(t, reg, rows, "10.0.0.1", nil)
		<-s.Joined()
		for range 2 {
			if st := s.Status(); st.Instance != "" || len(st.Troubles) != 1 || st.Troubles[0].Code != reason.RestStays || !strings.Contains(st.Troubles[0].String(), testJob) {
				t.Errorf("%+v", st)
			}
			time.Sleep(5 * time.Minute)
		}
		denied.Store(false)
		time.Sleep(2 * time.Minute)
		if st := s.Status(); st.Instance == "" || st.Paused || len(st.Troubles) > 0 {
			t.Errorf("%+v", st)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// A rest that another server deletes first is no trouble.
func TestRestDeletedElsewhereIsNoTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := embedded.Memory()
		state := leaveRest(t, inner)
		other, err := inner.Open(t.Context(), nil)
		must(t, err)
		var first sync.Once
		reg, rows := registrytest.NewFaulty(inner, func(_ int, ops []registry.Op) registrytest.Outcome {
			if slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Kind == registry.Delete && op.Path == state }) {
				first.Do(func() { must(t, removal.Once(t.Context(), other, layout.NewJob("test", testJob))) })
			}
			return registrytest.Pass
		}), &book{}
		var log bytes.Buffer
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		<-s.Joined()
		if st := s.Status(); st.Instance == "" {
			t.Errorf("ready before it has joined: %+v", st)
		}
		s.stop(t)
		if text := log.String(); strings.Contains(text, string(reason.RestStays)) || !strings.Contains(text, string(reason.RestDeleted)) {
			t.Error(text)
		}
		must(t, other.Close())
		must(t, reg.Close())
	})
}
