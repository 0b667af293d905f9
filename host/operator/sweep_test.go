package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// parted is a session to which something happens once a removal has deleted the definition:
// after that many more transactions all fails, or something is done, such as the end of the request.
type parted struct {
	registry.Session
	fails error  // nil: nothing fails
	then  func() // nil: nothing
	more  int
	gone  bool
	reads int // that failed
}

// Read implements registry.Session.
func (s *parted) Read(ctx context.Context, path string) (registry.Node, error) {
	if s.gone && s.more <= 0 && s.fails != nil {
		s.reads++
		return registry.Node{}, s.fails
	}
	if err := ctx.Err(); err != nil {
		return registry.Node{}, err
	}
	return s.Session.Read(ctx, path)
}

// Commit implements registry.Session.
func (s *parted) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.gone && s.more <= 0 && s.fails != nil {
		return registry.Receipt{}, s.fails
	}
	if err := ctx.Err(); err != nil {
		return registry.Receipt{}, err
	}
	r, err := s.Session.Commit(ctx, ops...)
	switch {
	case err != nil:
	case s.gone:
		s.more--
	case slices.ContainsFunc(ops, func(op registry.Op) bool { return op.Kind == registry.Delete && strings.HasSuffix(op.Path, "/config") }):
		s.gone = true
		if s.then != nil {
			s.then()
		}
	}
	return r, err
}

// A removal whose definition is gone does not end with its request.
func TestRemovalOutlastsItsRequest(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o, other := operate(t, reg), operate(t, reg)
	putLarge(t, o)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	o.session = &parted{Session: o.session, then: end}
	if err := o.Remove(ctx, "j", true); err != nil || ctx.Err() == nil {
		t.Errorf("%v, and the request: %v", err, ctx.Err())
	}
	if n, err := other.session.Read(t.Context(), "/jobs/j"); err != nil || n.Exists {
		t.Errorf("left: %d nodes, %v", len(n.Children), err)
	}
	if err := errors.Join(o.Close(), other.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// A refusal that no other try changes is told as what it is, and at once.
func TestRemovalThatMayNotRead(t *testing.T) {
	t.Parallel()
	reg := embedded.MemoryWith(embedded.Options{MaxCommit: 64 << 10})
	o := operate(t, reg)
	putLarge(t, o)
	s := &parted{Session: o.session, fails: fmt.Errorf("%w: as the test wants it", registry.ErrDenied)}
	o.session = s
	if err := o.Remove(t.Context(), "j", true); !errors.Is(err, registry.ErrDenied) {
		t.Error(err)
	}
	s.reads = 0
	if err := o.sweep(t.Context(), layout.NewJob("jobs", "j")); !errors.Is(err, registry.ErrDenied) || s.reads != 1 {
		t.Errorf("%d reads, %v", s.reads, err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}
