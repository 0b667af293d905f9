package runner

import (
	"context"
	"errors"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// receive receives an event of the service.
func (s *remote) receive(e registry.Event) {
	delay := s.network.delay()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.connected || s.over || e.Kind == registry.Changed && s.lostEvents[rootOf(e.Path)] > 0 {
		return
	}
	if e.Kind == registry.Ended {
		s.endIn(delay)
		return
	}
	number := s.number
	s.in.put(delay, func() { s.deliver(number, e) })
}

// deliver delivers an event to the client if its connection still exists.
func (s *remote) deliver(number int, e registry.Event) (delivered bool) {
	s.delivering.Lock()
	defer s.delivering.Unlock()
	s.mu.Lock()
	delivered = s.connected && s.number == number && !s.over
	s.mu.Unlock()
	if delivered {
		s.on(e)
	}
	return delivered
}

// endIn delivers the end of the session after a delay. mu is held.
func (s *remote) endIn(delay time.Duration) {
	number := s.number
	s.in.put(delay, func() {
		s.mu.Lock()
		ends := s.connected && s.number == number
		s.mu.Unlock()
		if ends {
			s.finish()
		}
	})
}

// finish ends the session for the client, and reports whether it had not ended yet.
func (s *remote) finish() bool {
	s.delivering.Lock()
	defer s.delivering.Unlock()
	s.mu.Lock()
	over, pending := s.over, s.pending
	if !s.over {
		s.overAt = time.Now()
	}
	s.over, s.pending = true, nil
	s.mu.Unlock()
	if over {
		return false
	}
	s.on(registry.Event{Kind: registry.Ended})
	close(s.life)
	s.in.close()
	s.out.close()
	for r := range pending {
		r.answer(errCut)
	}
	return true
}

// disconnect loses the connection and everything on its way.
func (s *remote) disconnect() {
	s.delivering.Lock()
	defer s.delivering.Unlock()
	s.mu.Lock()
	if !s.connected || s.over {
		s.mu.Unlock()
		return
	}
	s.connected, s.number, s.held = false, s.number+1, nil
	select {
	case <-s.up:
		s.up = make(chan struct{})
	default: // the one before was not delivered yet
	}
	pending := s.pending
	s.pending = map[*request]struct{}{}
	s.in.clear()
	s.out.clear()
	s.mu.Unlock()
	s.on(registry.Event{Kind: registry.Suspended})
	for r := range pending {
		if r.kind == committing && s.network.chance(0.5) {
			s.delayed(r)
		}
		r.answer(errCut)
	}
}

// restore reconnects if the service still knows the session.
func (s *remote) restore() {
	delay, deposed := s.network.delay(), s.network.isDeposed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected || s.over {
		return
	}
	s.connected, s.answered, s.beating = true, time.Now(), false
	if s.gone {
		s.endIn(delay)
		return
	}
	if !deposed {
		s.arrived = time.Now()
	}
	number, up := s.number, s.up
	s.in.put(delay, func() {
		if s.deliver(number, registry.Event{Kind: registry.Resumed}) {
			close(up)
		}
	})
}

// expire runs at the service: it ends the session when the service has received nothing
// for the time-out.
func (s *remote) expire() {
	s.mu.Lock()
	left := s.network.timeout - time.Since(s.arrived)
	if s.gone || left > 0 {
		if !s.gone {
			time.AfterFunc(left, s.expire)
		}
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.forget()
}

// passed advances time for the service only.
func (s *remote) passed(d time.Duration) {
	s.mu.Lock()
	s.arrived = s.arrived.Add(-d)
	s.mu.Unlock()
	s.expire()
}

// silentFor returns how long the service has received nothing.
func (s *remote) silentFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.arrived)
}

// forget ends the session at the service.
func (s *remote) forget() {
	s.mu.Lock()
	gone := s.gone
	s.gone = true
	s.mu.Unlock()
	if gone {
		return
	}
	s.network.ended(s)
	_ = s.inner.Close() // in memory, it has no error
}

// keep runs at the client: it maintains the connection and sends signs of life.
func (s *remote) keep() {
	timeout := s.network.timeout
	for {
		select {
		case <-time.After(timeout / 40):
		case <-s.life:
			return
		}
		s.mu.Lock()
		connected, silent := s.connected, time.Since(s.answered)
		beat := connected && !s.beating && time.Since(s.acked) >= timeout/6
		s.beating = s.beating || beat
		s.mu.Unlock()
		switch {
		case !connected && s.network.reachable():
			s.restore()
		case connected && silent > timeout*2/3 && !s.network.isDeposed():
			s.disconnect()
		case beat:
			go s.beat()
		}
	}
}

func (s *remote) beat() {
	ctx, cancel := context.WithTimeout(context.Background(), s.network.timeout)
	defer cancel()
	_ = s.ask(ctx, beating, func() error { return s.inner.Sync(ctx) }) // a failure shows in Acknowledged
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beating = false
}

// Close implements registry.Session. If the service does not receive it, the session ends
// after the time-out.
func (s *remote) Close() error {
	s.mu.Lock()
	connected := s.connected
	s.mu.Unlock()
	if s.finish() && connected && s.network.reachable() && !s.network.isDeposed() {
		s.forget()
	}
	return nil
}

// background returns a context that outlives the caller: a request that was sent is
// carried out.
func background(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func (s *remote) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if s.openRequests.sends(ops) {
		s.network.breach("session %d writes %s before it has settled what had no answer", s.ID(), ops[len(ops)-1].Path)
	}
	defer s.openRequests.begins(ops[0].Path)()
	asked, answer := time.Now(), make(chan registry.Receipt, 1) // the request may be carried out after its caller has gone
	err := s.request(ctx, &request{kind: committing, root: rootOf(ops[0].Path), do: func() error {
		receipt, err := s.inner.Commit(background(ctx), ops...)
		if err == nil {
			s.network.carriedOut(ops, asked)
		}
		answer <- receipt
		return err
	}})
	if errors.Is(err, registry.ErrUnknown) {
		s.openRequests.unknown(ops)
	}
	if err == nil || errors.Is(err, registry.ErrUnknown) {
		s.network.requested(ops)
	}
	if err != nil {
		return registry.Receipt{}, err
	}
	return <-answer, nil
}

func (s *remote) Read(ctx context.Context, path string) (registry.Node, error) {
	defer s.openRequests.begins(path)()
	answer := make(chan registry.Node, 1)
	err := s.ask(ctx, reading, func() error {
		n, err := s.inner.Read(background(ctx), path)
		answer <- n
		return err
	})
	if err != nil {
		return registry.Node{}, err
	}
	return <-answer, nil
}

func (s *remote) Time(ctx context.Context) (time.Time, error) {
	err := s.ask(ctx, asking, func() error { return nil })
	return time.Now(), err
}

func (s *remote) Sync(ctx context.Context) error {
	err := s.ask(ctx, syncing, func() error { return s.inner.Sync(background(ctx)) })
	if err == nil {
		s.openRequests.synced()
	}
	return err
}

func (s *remote) Persist(ctx context.Context) error {
	err := s.ask(ctx, asking, func() error { return s.inner.Persist(background(ctx)) })
	if err == nil {
		s.network.mu.Lock()
		defer s.network.mu.Unlock()
		s.network.persisted++
	}
	return err
}

func (s *remote) Follow(ctx context.Context, root string) error {
	return s.ask(ctx, asking, func() error { return s.inner.Follow(background(ctx), root) })
}
