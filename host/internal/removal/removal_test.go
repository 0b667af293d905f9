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
	return openOn(t, embedded.Memory())
}

func openOn(t *testing.T, reg registry.Registry) registry.Session {
	t.Helper()
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

// Nothing is deleted if the job is defined, or if there is no mark.
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

// Wherever a deletion is interrupted, the mark stays until all else is deleted.
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

// meddling is a session that, before its transactions, creates a node below one that is to be deleted.
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

// Nodes that change meanwhile stay, with the mark; all others are deleted.
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

// exhausted is a session that ends after some requests, as if its server was stopped.
type exhausted struct {
	registry.Session
	left int
}

func (s *exhausted) over() bool {
	s.left--
	return s.left < 0
}

// Read implements registry.Session.
func (s *exhausted) Read(ctx context.Context, path string) (registry.Node, error) {
	if s.over() {
		return registry.Node{}, registry.ErrEnded
	}
	return s.Session.Read(ctx, path)
}

// Commit implements registry.Session.
func (s *exhausted) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.over() {
		return registry.Receipt{}, registry.ErrEnded
	}
	return s.Session.Commit(ctx, ops...)
}

// A deletion finishes even if no try has the time to read all nodes, since each deletes what it has read.
// The mark stays until then, wherever the reading ends.
func TestOnceDeletesWhatItHasRead(t *testing.T) {
	t.Parallel()
	s := open(t)
	above, mark := jobs.Removal()
	create(t, s, "/jobs", jobs.Root(), above, mark, above+"/items", jobs.Root()+"/zone")
	for i := range 3 * AtOnce {
		create(t, s, fmt.Sprintf("%s/zone/%d", jobs.Root(), i))
	}
	for try := 0; there(t, s, jobs.Root()); try++ {
		if !there(t, s, mark) {
			t.Fatal("the mark has gone before the rest")
		}
		if err := Once(t.Context(), &exhausted{s, AtOnce + 20}, jobs); try == 4 {
			t.Fatal("nothing comes of it:", err)
		}
	}
}

// Nodes that another session deletes at the same time do not cost a transaction each.
func TestTwoDeletionsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	above, mark := jobs.Removal()
	create(t, s, "/jobs", jobs.Root(), above, mark, above+"/items")
	var gone []string
	for i := range 2 * AtOnce {
		path := fmt.Sprintf("%s/items/%d", above, i)
		create(t, s, path)
		if i%3 > 0 {
			gone = append(gone, path)
		}
	}
	many := &counted{Session: s, first: func() {
		if _, err := s.Commit(t.Context(), Deletions(gone)...); err != nil {
			t.Error(err)
		}
	}}
	if err := Once(t.Context(), many, jobs); err != nil || there(t, s, jobs.Root()) {
		t.Error(err)
	}
	if many.commits > 10 {
		t.Errorf("%d transactions", many.commits)
	}
}

// counted is a session that counts transactions, and calls first before the first one.
type counted struct {
	registry.Session
	commits int
	first   func()
}

// Commit implements registry.Session.
func (s *counted) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.commits++; s.commits == 1 {
		s.first()
	}
	return s.Session.Commit(ctx, ops...)
}

// Once sends no further request if the removal is finished, or the job defined again, meanwhile.
func TestOnceIsOvertaken(t *testing.T) {
	t.Parallel()
	s := open(t)
	above, mark := jobs.Removal()
	config, _, _ := jobs.Nodes()
	create(t, s, "/jobs", jobs.Root(), above, mark, above+"/items")
	for i := range 3 * AtOnce {
		create(t, s, fmt.Sprintf("%s/items/%d", above, i))
	}
	late := &counted{Session: s, first: func() { create(t, s, config) }}
	if err := Once(t.Context(), late, jobs); !Overtaken(err) || late.commits != 1 {
		t.Errorf("%d transactions, %v", late.commits, err)
	}
}

// Nodes that do not fit into one transaction are deleted by several.
func TestOnceInSmallTransactions(t *testing.T) {
	t.Parallel()
	s := openOn(t, embedded.MemoryWith(embedded.Options{MaxCommit: 4 << 10}))
	above, mark := jobs.Removal()
	create(t, s, "/jobs", jobs.Root(), above, mark, above+"/items")
	for i := range AtOnce {
		create(t, s, fmt.Sprintf("%s/items/%d", above, i))
	}
	if err := Once(t.Context(), s, jobs); err != nil || there(t, s, jobs.Root()) {
		t.Error(err)
	}
}
