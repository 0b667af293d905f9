package operator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

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

// A request that was sent may have been carried out, even if reading its result fails.
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

// answersLate is a session whose first transaction has no answer. After that, a timeless one does not
// return the registry's time.
type answersLate struct {
	registry.Session
	sent, timeless bool
}

func (s *answersLate) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	receipt, err := s.Session.Commit(ctx, ops...)
	if err == nil && !s.sent {
		err = fmt.Errorf("%w: as the test wants it", registry.ErrUnknown)
	}
	s.sent = true
	return receipt, err
}

func (s *answersLate) Time(ctx context.Context) (time.Time, error) {
	if s.sent && s.timeless {
		return time.Time{}, errors.New("the test says no time")
	}
	return s.Session.Time(ctx)
}

// The outcome of a change without an answer stays unknown even if the next try fails.
func TestChangeWhoseResultCannotBeSeen(t *testing.T) {
	t.Parallel()
	for what, timeless := range map[string]bool{"the time is not there": true, "there is nothing left to change": false} {
		o := operate(t, passing(t))
		javatest.Write(t, o.session, javatest.Config(nil))
		if err := o.makeTree(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := &answersLate{Session: o.session, timeless: timeless}
		o.session = s
		err := o.changeState(t.Context(), "test", &deed{verb: "test"}, func(time.Time) ([]registry.Op, error) {
			if s.sent {
				return nil, failf(host.NotFound, nil, "it is not there")
			}
			return []registry.Op{{Kind: registry.Create, Path: o.tree.Drains()}}, nil
		})
		wantCode(t, what, err, host.Unknown)
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}
