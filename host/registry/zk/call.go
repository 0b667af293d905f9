package zk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

var (
	// errNotSent: the operation was not begun and will not be.
	errNotSent = errors.New("not sent")
	// errLate: the caller has stopped waiting for the operation, which may have been sent or
	// may still be sent.
	errLate = errors.New("no answer in time")
)

// call calls f, which asks ZooKeeper through the library, and returns the answer of f. The
// library may block for ever, so f has its own goroutine. call returns errNotSent if ctx or
// limit ends before there is a free slot and a connection: f is not called then. It returns
// errLate if they end while f blocks. When call returns an answer, the callback of the session
// has already received the events that ZooKeeper sent before this answer.
func call[T any](ctx context.Context, s *session, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", errNotSent, err)
	}
	// Not a derived context, because the caller's context would keep a reference to it.
	bound := time.NewTimer(s.limit())
	defer bound.Stop()
	op, err := s.start(ctx, bound.C)
	if err != nil {
		return none, fmt.Errorf("%w: %w", errNotSent, err)
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := f()
		answers <- answer{value, err}
		s.finish(op)
	}()
	select {
	case a := <-answers:
		// The service sends an event before a reply that it outdates, and the goroutine that
		// receives replies also puts events.
		s.events.Settle(s.events.Mark())
		return a.value, a.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-bound.C:
		err = context.DeadlineExceeded
	}
	s.abandon(op)
	return none, fmt.Errorf("%w: %w", errLate, err)
}

// limit bounds each operation, in addition to its context.
func (s *session) limit() time.Duration { return s.timeout() * 2 / 3 }

// start begins an operation: it waits for a slot and a connection, until ctx or the bound ends.
// If it returns an error, the operation has no slot.
func (s *session) start(ctx context.Context, bound <-chan time.Time) (*operation, error) {
	select {
	case s.slots <- struct{}{}:
	case <-s.life.Done():
		return nil, registry.ErrEnded
	case <-ctx.Done():
		return nil, fmt.Errorf("%d operations are under way: %w", maxInFlight, context.Cause(ctx))
	case <-bound:
		return nil, fmt.Errorf("%d operations are under way: %w", maxInFlight, context.DeadlineExceeded)
	}
	_, err := s.connect(ctx, bound)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.isOver() {
			s.registry.work.Add(1)
			return &operation{done: make(chan struct{})}, nil
		}
		err = registry.ErrEnded
	}
	<-s.slots
	return nil, err
}

// finish records that an operation has its answer, and gives its slot back.
func (s *session) finish(op *operation) {
	s.mu.Lock()
	delete(s.late, op)
	s.mu.Unlock()
	close(op.done)
	<-s.slots
	s.registry.work.Done()
}

// abandon records that no caller waits for op any more, for awaitLate. It does nothing if op has
// its answer.
func (s *session) abandon(op *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-op.done:
	default:
		s.late[op] = struct{}{}
	}
}

// awaitLate waits until every abandoned operation has its answer. Before that the library may
// send one at any moment, so a request that must follow them has to wait.
func (s *session) awaitLate(ctx context.Context) error {
	s.mu.Lock()
	waiting := make([]*operation, 0, len(s.late))
	for op := range s.late {
		waiting = append(waiting, op)
	}
	s.mu.Unlock()
	for _, op := range waiting {
		select {
		case <-op.done:
		case <-ctx.Done():
			return fmt.Errorf("an earlier operation has no answer: %w", context.Cause(ctx))
		}
	}
	return nil
}

// beat sends a keep-alive whenever no transaction was acknowledged for a sixth of the time-out.
// Without a connection it sends none. After two time-outs without one it probes, once in a
// time-out, whether the service has forgotten the session, if the service never says so.
func (s *session) beat() {
	probed := time.Now()
	for {
		every := s.timeout() / beatsPerTimeout
		select {
		case <-time.After(every - min(time.Since(s.Acknowledged()), every*9/10)):
		case <-s.life.Done():
			return
		}
		if since, cut := s.cutSince(); cut {
			if timeout := s.timeout(); time.Since(since) > 2*timeout && time.Since(probed) > timeout {
				probed = time.Now()
				s.probe()
			}
			continue
		}
		if time.Since(s.Acknowledged()) >= every*9/10 {
			_ = s.keepAlive(s.life) // a failure shows in Acknowledged
		}
	}
}

// cutSince reports whether the session has lost its connection, and since when. A session that
// was never connected has lost none.
func (s *session) cutSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost, s.connection.phase != up && s.connection.number > 0
}

// probe ends the session if a new one can be opened and this one is still refused when it has
// tried each address since. A service that has lost its data closes the connection of every
// client that has seen a later state, again and again, without an answer.
func (s *session) probe() {
	other, err := s.registry.begin(nil)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }() // it returns none
	ctx, cancel := context.WithTimeout(s.life, s.timeout())
	defer cancel()
	if _, err := other.connect(ctx, nil); err != nil {
		return
	}
	if _, err := s.connect(s.life, time.After(s.link.round())); err == nil || s.isOver() {
		return // the service had just come back, and this session had yet to try
	}
	if _, cut := other.cutSince(); !cut { // otherwise it has gone again
		s.registry.options.Logger.Warn("the registry serves others but refuses this session", "session", s.ID())
		s.end(true)
	}
}
