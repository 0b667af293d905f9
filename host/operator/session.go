package operator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// maxFollowed is the limit of trees that the session of a SharedSession follows. A session cannot
// stop following a tree, and each tree slows down its events and its reconnects.
const maxFollowed = 256

// SharedSession is one session of the registry for all requests of a server. Each request has its
// own Operator on it, so requests neither wait for each other nor write in each other's name.
// Create it with NewSharedSession. Its methods are safe for concurrent use.
type SharedSession struct {
	registry  registry.Registry
	namespace string
	work      sync.WaitGroup // tries to open a session

	mu     sync.Mutex // guards the fields below, and those of links
	link   *link      // for the next Operator; nil: none is open
	try    *try       // to open a session; nil: none is in progress
	closed bool
}

// link is a session with the Operators that use it.
type link struct {
	registry.Session
	of       *SharedSession
	users    map[*session.Inbox]struct{}
	followed map[string]struct{}
	roster   *roster
	ended    bool // the registry has ended it
}

// try is an attempt to open a session, shared by all requests that wait for it.
type try struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when err is set
	err    error
}

// NewSharedSession returns a SharedSession. It opens its session for the first Operator, and a new
// one after that has ended.
func NewSharedSession(r registry.Registry, namespace string) *SharedSession {
	return &SharedSession{registry: r, namespace: namespace}
}

// Operator returns an Operator for one request, which must close it at its end.
func (s *SharedSession) Operator(ctx context.Context) (*Operator, error) {
	for {
		o := newOperator(s.namespace)
		l, err := s.join(ctx, o.inbox)
		if err == nil {
			err = l.answers(ctx)
		}
		if err == nil {
			o.session, o.roster = l, l.roster
			o.end = func() error { return l.leave(o.inbox) }
			return o, nil
		}
		if l != nil {
			err = errors.Join(err, l.leave(o.inbox))
		}
		if l == nil || !errors.Is(err, registry.ErrEnded) {
			return nil, failf(host.Unavailable, err, "reach the registry")
		}
		s.drop(l) // its session has ended: try with a new one
	}
}

// Close ends the session. Close all Operators first.
func (s *SharedSession) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.try != nil {
		s.try.cancel()
	}
	s.mu.Unlock()
	s.work.Wait()
	s.mu.Lock()
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.Close()
}

// join subscribes an inbox to the events of the session, and opens the session first if
// there is none. Concurrent calls wait for the same try and return its error.
func (s *SharedSession) join(ctx context.Context, inbox *session.Inbox) (*link, error) {
	for {
		s.mu.Lock()
		if l := s.link; l != nil {
			l.users[inbox] = struct{}{}
			s.mu.Unlock()
			return l, nil
		}
		if s.closed {
			s.mu.Unlock()
			return nil, errors.New("the server is stopping")
		}
		if s.try == nil {
			s.begin(ctx)
		}
		t := s.try
		s.mu.Unlock()
		select {
		case <-t.done:
			if t.err != nil {
				return nil, t.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin starts a try to open a session. The try continues if the request that started it
// is cancelled. mu is held.
func (s *SharedSession) begin(ctx context.Context) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), openPatience)
	t := &try{cancel: cancel, done: make(chan struct{})}
	s.try = t
	s.work.Go(func() {
		defer cancel()
		l := &link{of: s, users: map[*session.Inbox]struct{}{}, followed: map[string]struct{}{}, roster: newRoster(layout.JobsIn(s.namespace))}
		opened, err := s.registry.Open(within, l.put)
		s.mu.Lock()
		defer s.mu.Unlock()
		l.Session, t.err, s.try = opened, err, nil
		if err == nil && !l.ended { // it may have ended already
			s.link = l
		}
		close(t.done)
	})
}

// drop makes the next Operator use another link.
func (s *SharedSession) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l {
		s.link = nil
	}
}

// put passes an event to all users, since each may read what another one follows.
func (l *link) put(e registry.Event) {
	l.roster.event(e)
	s := l.of
	s.mu.Lock()
	defer s.mu.Unlock()
	for inbox := range l.users {
		inbox.Put(e)
	}
	if e.Kind != registry.Ended {
		return
	}
	l.ended = true
	if s.link == l {
		s.link = nil
	}
}

// answers syncs a session that has had no answer for longer than its time-out, so that an
// ended session is found before a request uses it.
func (l *link) answers(ctx context.Context) error {
	if most := l.Timeout(); most == 0 || time.Since(l.Acknowledged()) <= most {
		return nil
	}
	return l.Sync(ctx)
}

// Follow implements registry.Session. Once this session follows maxFollowed trees, the next
// Operator gets another session.
func (l *link) Follow(ctx context.Context, root string) error {
	s := l.of
	s.mu.Lock()
	l.followed[root] = struct{}{}
	if len(l.followed) >= maxFollowed && s.link == l {
		s.link = nil
	}
	s.mu.Unlock()
	return l.Session.Follow(ctx, root)
}

// leave ends an Operator's use of the session. The last one closes a session that no
// further Operator will use.
func (l *link) leave(inbox *session.Inbox) error {
	s := l.of
	s.mu.Lock()
	delete(l.users, inbox)
	last := len(l.users) == 0 && s.link != l && !l.ended
	s.mu.Unlock()
	if !last {
		return nil
	}
	return l.Close()
}
