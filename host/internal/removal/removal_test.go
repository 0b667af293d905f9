package removal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

var jobs = layout.NewJob("jobs", "j")

// open opens a session on a registry in memory.
func open(t *testing.T) registry.Session {
	t.Helper()
	reg := embedded.Memory()
	s, err := reg.Open(t.Context(), func(registry.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func create(t *testing.T, s registry.Session, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := s.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: path}); err != nil {
			t.Fatal(err)
		}
	}
}

func there(t *testing.T, s registry.Session, path string) bool {
	t.Helper()
	n, err := s.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return n.Exists
}

// Nothing is deleted of a job that is defined, nor where no removal has left its mark.
func TestOps(t *testing.T) {
	t.Parallel()
	s := open(t)
	above, mark := jobs.Removal()
	config, _, _ := jobs.Nodes()
	create(t, s, "/jobs", jobs.Root(), above, above+"/paused")
	try := func() error {
		_, err := s.Commit(t.Context(), Ops(jobs, []string{above + "/paused"})...)
		return err
	}
	if err := try(); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("without a mark: %v", err)
	}
	create(t, s, mark, config)
	if err := try(); !errors.Is(err, registry.ErrConflict) {
		t.Errorf("with a definition: %v", err)
	}
	if _, err := s.Commit(t.Context(), Deletions([]string{config})...); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Error(err)
	}
}

// limited is a session that ends after some transactions.
type limited struct {
	registry.Session
	left int
}

// Commit implements registry.Session.
func (s *limited) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.left--; s.left < 0 {
		return registry.Receipt{}, registry.ErrEnded
	}
	return s.Session.Commit(ctx, ops...)
}

// The mark stays until all else is gone, wherever a deletion is cut off.
func TestOnceIsCutOff(t *testing.T) {
	t.Parallel()
	s := open(t)
	above, mark := jobs.Removal()
	create(t, s, "/jobs", jobs.Root(), above, mark, above+"/items")
	for i := range 2*AtOnce + 1 {
		create(t, s, fmt.Sprintf("%s/items/%d", above, i))
	}
	const parts = 4
	for cut := range parts {
		if err := Once(t.Context(), &limited{s, 1}, jobs); cut+1 < parts && !errors.Is(err, registry.ErrEnded) || cut+1 == parts && err != nil {
			t.Errorf("part %d: %v", cut, err)
		}
		if is := there(t, s, mark); is != (cut+1 < parts) {
			t.Errorf("part %d: the mark is there: %v", cut, is)
		}
	}
	if there(t, s, jobs.Root()) || Once(t.Context(), s, jobs) != nil {
		t.Error("something is left")
	}
}

// meddling is a session before whose transactions somebody creates a node below one that goes.
type meddling struct {
	registry.Session
	below string
}

// Commit implements registry.Session.
func (s *meddling) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if below := s.below; below != "" {
		s.below = ""
		if _, err := s.Session.Commit(ctx, registry.Op{Kind: registry.Create, Path: below}); err != nil {
			return registry.Receipt{}, err
		}
	}
	return s.Session.Commit(ctx, ops...)
}

// What changes meanwhile stays, with the mark; all else goes.
func TestOnceIsDisturbed(t *testing.T) {
	t.Parallel()
	s := open(t)
	above, mark := jobs.Removal()
	create(t, s, "/jobs", jobs.Root(), above, mark, above+"/items", above+"/runs", above+"/runs/a", above+"/paused")
	err := Once(t.Context(), &meddling{s, above + "/items/7"}, jobs)
	if !errors.Is(err, registry.ErrConflict) || !MayPass(err) {
		t.Error(err)
	}
	if there(t, s, above+"/runs") || there(t, s, above+"/paused") || !there(t, s, above+"/items/7") || !there(t, s, mark) {
		t.Error("another rest")
	}
	if err := Once(t.Context(), s, jobs); err != nil || there(t, s, jobs.Root()) {
		t.Error(err)
	}
}
