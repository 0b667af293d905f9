package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// belated is a registry that carries out one transaction late, if that is still
// possible: at a sync.
type belated struct {
	registry.Registry
	commits func() // called before that transaction is sent; nil: none follows
	syncs   func() // called after the next sync was sent, and thus before the late transaction; may be nil
	late    []registry.Op
}

type belatedSession struct {
	registry.Session
	of *belated
}

func (r *belated) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	s, err := r.Registry.Open(ctx, on)
	return belatedSession{s, r}, err
}

func (s belatedSession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if commits := s.of.commits; commits != nil {
		s.of.commits = nil
		commits()
		s.of.late = ops
		return registry.Receipt{}, registry.ErrUnknown
	}
	return s.Session.Commit(ctx, ops...)
}

func (s belatedSession) Sync(ctx context.Context) error {
	if syncs := s.of.syncs; syncs != nil {
		s.of.syncs = nil
		syncs()
		return s.Session.Sync(ctx)
	}
	if late := s.of.late; late != nil {
		s.of.late = nil
		if _, err := s.Session.Commit(ctx, late...); err != nil && !errors.Is(err, registry.ErrConflict) {
			return err
		}
	}
	return s.Session.Sync(ctx)
}

// The loop of a job and the session's watcher may both close its job session. When one
// of them has removed everything, the transaction of the other may still be carried out,
// and would remove what the job's next session creates.
func TestJobSessionIsClosedByTwo(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]func(reg *belated, first, second func()){
		"one commits before the other": func(reg *belated, first, second func()) {
			reg.commits = second
			first()
		},
		"one commits while the other syncs": func(reg *belated, first, second func()) {
			reg.syncs = func() {
				reg.commits = func() {}
				first()
			}
			second()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := &belated{Registry: embedded.Memory()}
				server := New(Options{Registry: reg})
				ctx, stop := t.Context(), startServer(t, server)
				defer stop()
				must := func(_ any, err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
				}
				a, _ := openOn(t, server, "/a")
				must(a.Commit(ctx, create("/a"), ephemeral("/a/e")))
				plan(reg, func() {
					if err := a.Close(ctx); !errors.Is(err, registry.ErrUnknown) {
						t.Errorf("close without an answer: %v", err)
					}
				}, func() { must(nil, a.Close(ctx)) })
				must(nil, a.Close(ctx))

				b, _ := openOn(t, server, "/a")
				must(b.Commit(ctx, ephemeral("/a/e")))
				must(nil, b.Sync(ctx))
				if n, err := b.Read(ctx, "/a/e"); err != nil || !n.Exists {
					t.Errorf("what the next job session has created: there %v, %v", n.Exists, err)
				}
				must(nil, b.Close(ctx))
			})
		})
	}
}
