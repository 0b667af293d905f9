package operator

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// counted is a registry that collects the sessions that are opened on it.
type counted struct {
	registry.Registry
	wrap func(registry.Session) registry.Session // applied to each session; nil: none
	hold chan error                              // Open waits for an error and returns it; nil: it does not wait

	mu     sync.Mutex // guards the rest
	opened []registry.Session
	tries  int
}

func (c *counted) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	c.mu.Lock()
	c.tries++
	c.mu.Unlock()
	if c.hold != nil {
		if err := <-c.hold; err != nil {
			return nil, err
		}
	}
	s, err := c.Registry.Open(ctx, on)
	if err == nil && c.wrap != nil {
		s = c.wrap(s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, s)
	return s, err
}

// newSharedSession returns a SharedSession that is closed, with its registry, at the end of the test.
func newSharedSession(t *testing.T, c *counted) *SharedSession {
	t.Helper()
	c.Registry = embedded.Memory()
	s := NewSharedSession(c, "jobs")
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// request calls do with a new Operator.
func (s *SharedSession) request(t *testing.T, do func(*Operator) error) {
	t.Helper()
	o, err := s.Operator(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	if err := errors.Join(do(o), o.Close()); err != nil {
		t.Error(err)
	}
}

func (s *SharedSession) names(t *testing.T) {
	t.Helper()
	s.request(t, func(o *Operator) error {
		_, err := o.Names(t.Context())
		return err
	})
}

func (c *counted) want(t *testing.T, sessions int) {
	t.Helper()
	if len(c.opened) != sessions {
		t.Errorf("%d sessions were opened, want %d", len(c.opened), sessions)
	}
}

// Concurrent requests share a session, and the audit shows which caller wrote what.
func TestRequestsShareASession(t *testing.T) {
	t.Parallel()
	reg := &counted{}
	s := newSharedSession(t, reg)
	s.request(t, func(o *Operator) error {
		javatest.Write(t, o.session, javatest.Config(nil))
		return nil
	})
	const requests = 100
	var work sync.WaitGroup
	for i := range requests {
		work.Go(func() {
			s.request(t, func(o *Operator) error {
				name := strconv.Itoa(i)
				o.As(Author{Name: name})
				_, err := o.Job(t.Context(), javatest.Name)
				return errors.Join(err, o.Note(t.Context(), "look", name))
			})
		})
	}
	work.Wait()
	s.request(t, func(o *Operator) error {
		rows, err := o.Audit(t.Context(), AuditFilter{})
		if len(rows) != requests {
			t.Errorf("%d rows", len(rows))
		}
		for _, row := range rows {
			if row.Name != row.Detail {
				t.Errorf("%s wrote in the name of %s", row.Detail, row.Name)
			}
		}
		return err
	})
	reg.want(t, 1)
}

// A request after the end of the session gets a new one, even if the end is not known yet.
func TestLostSessionIsReplaced(t *testing.T) {
	t.Parallel()
	t.Run("known", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			reg := &counted{}
			s := newSharedSession(t, reg)
			s.request(t, func(o *Operator) error {
				err := reg.opened[0].Close()
				synctest.Wait() // the event of the end arrives
				s.names(t)
				_, after := o.Names(t.Context())
				wantCode(t, "a request over the end", after, host.Unavailable)
				return err
			})
			s.names(t)
			reg.want(t, 2)
		})
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		first := true
		reg := &counted{wrap: func(s registry.Session) registry.Session {
			if !first {
				return s
			}
			first = false
			return silent{s}
		}}
		s := newSharedSession(t, reg)
		s.names(t)
		reg.want(t, 2)
	})
}

// silent is a session that ended while its machine slept.
type silent struct{ registry.Session }

func (silent) Timeout() time.Duration     { return time.Second }
func (silent) Acknowledged() time.Time    { return time.Now().Add(-time.Hour) }
func (silent) Sync(context.Context) error { return registry.ErrEnded }

// A session that follows too many trees is replaced, and ends with its last request.
func TestSessionThatFollowsMuchIsReplaced(t *testing.T) {
	t.Parallel()
	reg := &counted{}
	s := newSharedSession(t, reg)
	s.request(t, func(long *Operator) error {
		for i := range maxFollowed {
			s.request(t, func(o *Operator) error {
				_, err := o.Job(t.Context(), strconv.Itoa(i))
				wantCode(t, "a missing job", err, host.NotFound)
				return nil
			})
		}
		s.names(t)
		reg.want(t, 2)
		_, err := long.Names(t.Context())
		return err
	})
	if _, err := reg.opened[0].Read(t.Context(), "/jobs"); !errors.Is(err, registry.ErrEnded) {
		t.Errorf("the session is left open: %v", err)
	}
	s.names(t)
	reg.want(t, 2)
}

// Concurrent requests wait for the same try to reach the registry, each until its own context
// ends. A later request tries again.
func TestRequestsWaitForOneTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := &counted{hold: make(chan error)}
		s := newSharedSession(t, reg)
		ctx, giveUp := context.WithCancel(t.Context())
		var work sync.WaitGroup
		wait := func(ctx context.Context) {
			_, err := s.Operator(ctx)
			wantCode(t, "a request that waits", err, host.Unavailable)
		}
		work.Go(func() { wait(ctx) })
		synctest.Wait()
		for range 10 {
			work.Go(func() { wait(t.Context()) })
		}
		synctest.Wait()
		giveUp()
		synctest.Wait()
		reg.hold <- errors.New("nobody is there")
		work.Wait()
		if reg.tries != 1 {
			t.Errorf("%d tries", reg.tries)
		}
		close(reg.hold)
		s.names(t)
		reg.want(t, 1)
	})
}

// A stopping server does not wait for the registry.
func TestSharedSessionEndsWhileItOpens(t *testing.T) {
	t.Parallel()
	s := NewSharedSession(unreachable{}, "jobs")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Operator(ctx)
	wantCode(t, "a request that is given up", err, host.Unavailable)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, err = s.Operator(t.Context())
	wantCode(t, "a request after the end", err, host.Unavailable)
}

// unreachable is a registry that cannot be reached.
type unreachable struct{}

func (unreachable) Open(ctx context.Context, _ func(registry.Event)) (registry.Session, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (unreachable) Close() error { return nil }
