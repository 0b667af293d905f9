package runner

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// removeBelow deletes a node and all below it, as an operator's tool would.
func removeBelow(t *testing.T, s registry.Session, path string) {
	t.Helper()
	n, err := s.Read(t.Context(), path, false)
	must(t, err)
	for _, name := range n.Children {
		removeBelow(t, s, path+"/"+name)
	}
	if n.Exists {
		_, err = s.Commit(t.Context(), registry.Op{Kind: registry.Delete, Path: path, Version: registry.AnyVersion})
		must(t, err)
	}
}

// An operator removes the job, namespace and all, in the middle of a run. The
// job begins again, in the same session, and nothing of its earlier life gets
// in its way.
func TestManyLivesInOneSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		operator, err := reg.Open(t.Context(), nil)
		must(t, err)
		s := serve(t, reg, rows, "10.0.0.1", nil)
		for range 5 {
			time.Sleep(10*time.Second + 500*time.Millisecond)
			removeBelow(t, operator, "/test")
			time.Sleep(2 * time.Second)
			if got := s.Status(); got.Instance == "" || len(got.Items) != 4 {
				t.Fatalf("status %+v, want that it has begun again", got)
			}
		}
		if n := len(s.sessions); n != 1 {
			t.Errorf("%d sessions, want one", n)
		}
		time.Sleep(time.Minute)
		s.stop(t)
		if got := rows.states()[trace.Succeeded]; got < 16 {
			t.Errorf("%d good runs", got)
		}
		must(t, reg.Close())
	})
}

// Somebody takes away what permissions the server has on a job's nodes, and
// gives them back: the job says so, waits, and goes on.
func TestDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var denied atomic.Bool
		reg, rows := registrytest.NewFaulty(embedded.Memory(), func(_ int, ops []registry.Op) registrytest.Outcome {
			if denied.Load() && strings.Contains(ops[0].Path, testJob) {
				return registrytest.Deny
			}
			return registrytest.Pass
		}), &book{}
		s := serve(t, reg, rows, "10.0.0.1", nil)
		time.Sleep(15 * time.Second)
		denied.Store(true)
		time.Sleep(time.Minute)
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0], "/test/"+testJob) {
			t.Errorf("troubles %q, want one that names the path", got)
		}
		denied.Store(false)
		time.Sleep(30 * time.Second)
		if got := s.Status().Troubles; len(got) != 0 {
			t.Errorf("troubles %q, want none", got)
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, reg.Close())
	})
}

// unreadable is a session that may not read some nodes.
type unreadable struct {
	registry.Session
	denied *atomic.Pointer[string]
}

func (u unreadable) Read(ctx context.Context, path string, arm bool) (registry.Node, error) {
	if p := u.denied.Load(); p != nil && strings.HasSuffix(path, *p) {
		return registry.Node{}, fmt.Errorf("read %s: %w", path, registry.ErrDenied)
	}
	return u.Session.Read(ctx, path, arm)
}

func TestReadIsDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		var denied atomic.Pointer[string]
		config := "/config"
		denied.Store(&config)
		d := &door{Registry: reg, wrap: func(s registry.Session) registry.Session { return unreadable{s, &denied} }}
		s := serveThrough(t, d, rows, "10.0.0.1", nil)
		time.Sleep(time.Minute)
		if got := s.Status().Troubles; len(got) != 1 || !strings.Contains(got[0], "/test/"+testJob+"/config") {
			t.Errorf("troubles %q, want one that names the path", got)
		}
		denied.Store(nil)
		time.Sleep(30 * time.Second)
		if got := s.Status(); len(got.Troubles) != 0 || got.Instance == "" {
			t.Errorf("status %+v, want that it has joined", got)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}
