package registrytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Outcome says what Faulty does with one commit.
type Outcome uint8

const (
	// Pass passes the commit on.
	Pass Outcome = iota
	// LoseRequest returns ErrUnknown; the commit is never applied.
	LoseRequest
	// LoseReply applies the commit and returns ErrUnknown, even if it was refused.
	LoseReply
	// Delay returns ErrUnknown; the commit is applied, or refused, when the session next calls
	// Sync, before that returns. It is lost if the session ends first.
	Delay
	// EndBefore ends the session and returns ErrEnded; the commit is never applied.
	EndBefore
	// EndAfter applies the commit, ends the session and returns ErrUnknown.
	EndAfter
	// Deny returns ErrDenied with the path of the first op; the commit is never applied.
	Deny
)

// Plan decides about the n-th commit of a Faulty, counted from 0 over all sessions. Its calls
// never overlap.
type Plan func(n int, ops []registry.Op) Outcome

// errDisconnected is the error of every request between Suspend and Resume. The outcome of a
// commit is then unknown.
var errDisconnected = fmt.Errorf("%w: disconnected", registry.ErrUnknown)

// Faulty is a registry that fails by plan, and otherwise behaves like the registry that it
// wraps. A delayed commit keeps the memory of its ops.
type Faulty struct {
	inner registry.Registry
	plan  Plan

	mu       sync.Mutex // guards the rest; held while plan runs
	commits  int
	sessions []*faultySession // open sessions, oldest first
	granted  time.Duration
}

var _ registry.Registry = (*Faulty)(nil)

// NewFaulty wraps inner, and closes it with itself. A nil plan passes every commit on.
func NewFaulty(inner registry.Registry, plan Plan) *Faulty {
	if plan == nil {
		plan = func(int, []registry.Op) Outcome { return Pass }
	}
	return &Faulty{inner: inner, plan: plan}
}

// Open starts a session. It is connected, even while others are suspended.
func (f *Faulty) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	if on == nil {
		on = func(registry.Event) {}
	}
	f.mu.Lock()
	s := &faultySession{faulty: f, on: on, granted: f.granted}
	f.mu.Unlock()
	inner, err := f.inner.Open(ctx, s.receive)
	if err != nil {
		return nil, err
	}
	s.Session = inner
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = append(f.sessions, s)
	return s, nil
}

// Close closes the wrapped registry.
func (f *Faulty) Close() error { return f.inner.Close() }

// EndSessions ends every session as the service would: its ephemeral nodes are deleted and it
// receives Ended.
func (f *Faulty) EndSessions() error {
	var errs []error
	for _, s := range f.living() {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Grant sets the time-out of the sessions that are opened from now on. Nothing ends when it has
// passed, but Acknowledged of these sessions returns the current time or, if they were silenced
// or suspended, the time of that.
func (f *Faulty) Grant(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.granted = d
}

// Silence makes every request wait, without any event, until its context ends or back is
// called. Then the waiting requests are carried out.
func (f *Faulty) Silence() (back func()) { return f.quieten(false) }

// quieten silences all sessions until back is called. If deposed, they still answer reads.
func (f *Faulty) quieten(deposed bool) (back func()) {
	var backs []func()
	for _, s := range f.living() {
		backs = append(backs, s.quieten(deposed))
	}
	return func() {
		for _, back := range backs {
			back()
		}
	}
}

// Depose simulates a server that was replaced without knowing it: reads are answered, all other
// requests wait as with Silence, until their context ends or back is called.
func (f *Faulty) Depose() (back func()) { return f.quieten(true) }

// Suspend disconnects every session: it receives Suspended, its requests fail, and it receives
// no changes until Resume. It does not end. Commits that fail in this way are never applied;
// use Plan for others.
func (f *Faulty) Suspend() { f.connect(true, registry.Suspended) }

// Resume ends Suspend. Every session receives Resumed and must read everything again.
func (f *Faulty) Resume() { f.connect(false, registry.Resumed) }

// connect disconnects or connects all sessions, which receive an event of that kind.
func (f *Faulty) connect(suspended bool, kind registry.EventKind) {
	for _, s := range f.living() {
		s.connect(suspended, kind)
	}
}

// living returns the open sessions.
func (f *Faulty) living() []*faultySession {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sessions)
}

// decide asks the plan about the next commit.
func (f *Faulty) decide(ops []registry.Op) Outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.commits
	f.commits++
	return f.plan(n, ops)
}

// forget removes a session that has ended.
func (f *Faulty) forget(s *faultySession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = slices.DeleteFunc(f.sessions, func(other *faultySession) bool { return other == s })
}

// faultySession passes ID and Close through.
type faultySession struct {
	registry.Session
	faulty  *Faulty
	granted time.Duration

	// speaking keeps the callback to one event at a time.
	speaking sync.Mutex
	on       func(registry.Event)
	ended    bool

	mu        sync.Mutex // guards the rest
	suspended bool
	since     time.Time     // when it was suspended or silenced
	silent    chan struct{} // closed when the silence ends; nil without one
	deposed   bool          // reads are answered during the silence
	delayed   [][]registry.Op
}

func (s *faultySession) Timeout() time.Duration { return s.granted }

// Acknowledged returns the current time while the service answers, or when it stopped answering.
func (s *faultySession) Acknowledged() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspended || s.silent != nil {
		return s.since
	}
	return time.Now()
}

// quieten silences the session until back is called. A session that is silent already stays so,
// and its back does nothing.
func (s *faultySession) quieten(deposed bool) (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent != nil {
		return func() {}
	}
	c := make(chan struct{})
	s.silent, s.since, s.deposed = c, time.Now(), deposed
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silent, s.deposed = nil, false
		close(c)
	}
}

// state returns whether the session is disconnected, and whether its server was deposed, which
// can still answer reads.
func (s *faultySession) state() (suspended, deposed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspended, s.deposed
}

// reach waits for the end of a silence. It fails if the session is disconnected or ctx ends.
func (s *faultySession) reach(ctx context.Context) error {
	s.mu.Lock()
	suspended, silent := s.suspended, s.silent
	s.mu.Unlock()
	if suspended {
		return errDisconnected
	}
	if silent == nil {
		return nil
	}
	select {
	case <-silent:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", registry.ErrUnknown, ctx.Err())
	}
}

// receive passes an event on, unless the session is disconnected.
func (s *faultySession) receive(e registry.Event) {
	if e.Kind == registry.Ended {
		s.faulty.forget(s)
	} else if suspended, _ := s.state(); suspended {
		return
	}
	s.speak(e)
}

// speak passes an event to the callback, unless Ended was the last one.
func (s *faultySession) speak(e registry.Event) {
	s.speaking.Lock()
	defer s.speaking.Unlock()
	if s.ended {
		return
	}
	s.ended = e.Kind == registry.Ended
	s.on(e)
}

// connect disconnects or connects the session. It passes the event on only if that changes
// something.
func (s *faultySession) connect(suspended bool, kind registry.EventKind) {
	s.mu.Lock()
	changed := s.suspended != suspended
	if s.suspended = suspended; changed && suspended {
		s.since = time.Now()
	}
	s.mu.Unlock()
	if changed {
		s.speak(registry.Event{Kind: kind})
	}
}

// Commit does with the commit what the plan says. If the session is over anyway, the error says
// that.
func (s *faultySession) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if err := s.reach(ctx); err != nil {
		return registry.Receipt{}, err
	}
	lost := fmt.Errorf("%w: by plan", registry.ErrUnknown)
	switch s.faulty.decide(ops) {
	case Pass:
		return s.Session.Commit(ctx, ops...)
	case LoseRequest:
	case LoseReply:
		_, err := s.Session.Commit(ctx, ops...)
		if errors.Is(err, registry.ErrEnded) {
			lost = err
		}
	case Delay:
		s.mu.Lock()
		s.delayed = append(s.delayed, slices.Clone(ops))
		s.mu.Unlock()
	case Deny:
		return registry.Receipt{}, fmt.Errorf("%w: %s, by plan", registry.ErrDenied, ops[0].Path)
	case EndBefore:
		return registry.Receipt{}, errors.Join(registry.ErrEnded, s.Close())
	case EndAfter:
		_, err := s.Session.Commit(ctx, ops...)
		if errors.Is(err, registry.ErrEnded) {
			lost = err
		}
		lost = errors.Join(lost, s.Close())
	}
	return registry.Receipt{}, lost
}

// Read waits for the end of a silence, unless the server was deposed: then it still answers
// reads.
func (s *faultySession) Read(ctx context.Context, path string) (registry.Node, error) {
	if suspended, deposed := s.state(); suspended || !deposed {
		if err := s.reach(ctx); err != nil {
			return registry.Node{}, err
		}
	}
	return s.Session.Read(ctx, path)
}

func (s *faultySession) Follow(ctx context.Context, root string) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	return s.Session.Follow(ctx, root)
}

// Sync applies delayed commits and then syncs.
func (s *faultySession) Sync(ctx context.Context) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	delayed := s.delayed
	s.delayed = nil
	s.mu.Unlock()
	for _, ops := range delayed {
		if _, err := s.Session.Commit(ctx, ops...); err != nil && !errors.Is(err, registry.ErrConflict) {
			return fmt.Errorf("apply a delayed commit: %w", err)
		}
	}
	return s.Session.Sync(ctx)
}

func (s *faultySession) Persist(ctx context.Context) error {
	if err := s.reach(ctx); err != nil {
		return err
	}
	return s.Session.Persist(ctx)
}

func (s *faultySession) Time(ctx context.Context) (time.Time, error) {
	if err := s.reach(ctx); err != nil {
		return time.Time{}, err
	}
	return s.Session.Time(ctx)
}
