package operator

import (
	"context"
	"fmt"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// goesAway is a session that answers one sync after a transaction whose outcome stays
// unknown, and nothing more.
type goesAway struct {
	registry.Session
	sent  bool
	syncs int
}

func (s *goesAway) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	s.sent = true
	if _, err := s.Session.Commit(ctx, ops...); err != nil {
		return registry.Receipt{}, err
	}
	return registry.Receipt{}, fmt.Errorf("%w: as the test wants it", registry.ErrUnknown)
}

func (s *goesAway) Sync(ctx context.Context) error {
	if s.sent {
		if s.syncs++; s.syncs > 1 {
			return fmt.Errorf("%w: as the test wants it", registry.ErrUnknown)
		}
	}
	return s.Session.Sync(ctx)
}

// A request that was sent may have been carried out, also if it is the look at its result
// that fails.
func TestRequestWhoseResultCannotBeSeen(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	if err := o.makeTree(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.session = &goesAway{Session: o.session}
	wantCode(t, "disable", o.SetServer(t.Context(), javatest.Name, "10.0.0.1", true), host.Unknown)
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
