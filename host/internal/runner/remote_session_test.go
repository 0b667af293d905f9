package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// remote is a session at the other end of a network.
type remote struct {
	network *network
	inner   registry.Session
	out, in *pipe
	life    chan struct{} // closed when the client knows that the session is over

	openRequests openRequests

	delivering sync.Mutex // held while on is called
	on         func(registry.Event)

	mu        sync.Mutex // guards the fields below
	number    int        // of the connection
	connected bool
	up        chan struct{} // closed while connected
	acked     time.Time
	// ackedAsleep is how long the machine had slept at acked.
	ackedAsleep time.Duration
	answered    time.Time // when the client last received something
	arrived     time.Time // when the service did
	pending     map[*request]struct{}
	lostEvents  map[string]int // by root of a job: whether its events get lost
	late        []*request     // sent on connections that were lost, and not carried out yet
	held        []*request     // held by a server that was replaced
	beating     bool           // a sign of life is under way
	over        bool           // the client knows that the session is over
	overAt      time.Time      // when it learned that
	gone        bool           // the service has ended it
}

// kind is the kind of a request.
type kind uint8

const (
	reading    kind = iota // a replaced server answers it itself
	committing             // its outcome can become unknown
	syncing                // no earlier request is carried out after it
	beating
	asking // any other request that needs the whole service
)

// request is a request on its way.
type request struct {
	kind   kind
	root   string       // of the job, of a transaction
	do     func() error // runs at the service
	number int          // of the connection
	sent   time.Time
	asleep time.Duration // sleep of the machine up to then
	done   chan struct{}
	once   sync.Once // guards the answer
	err    error
}

func (r *request) answer(err error) {
	r.once.Do(func() {
		r.err = err
		close(r.done)
	})
}

var (
	errCut  = fmt.Errorf("%w: the connection is lost", registry.ErrUnknown)
	errLost = fmt.Errorf("%w: as the test wants it", registry.ErrUnknown)
)

func (s *remote) ID() registry.SessionID { return s.inner.ID() }
func (s *remote) Timeout() time.Duration { return s.network.timeout }

func (s *remote) Acknowledged() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// alive reports whether the service still has the session.
func (s *remote) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone
}

// ask sends a request and waits for its answer.
func (s *remote) ask(ctx context.Context, k kind, do func() error) error {
	return s.request(ctx, &request{kind: k, do: do})
}

func (s *remote) request(ctx context.Context, r *request) error {
	bound, cancel := context.WithTimeout(ctx, s.network.timeout*2/3)
	defer cancel()
	r.done = make(chan struct{})
	do, once := r.do, sync.Once{}
	r.do = func() (err error) { // it may run twice: its answer was lost, and then its connection
		once.Do(func() { err = do() })
		return err
	}
	for !s.send(r) {
		s.mu.Lock()
		up, over := s.up, s.over
		s.mu.Unlock()
		if over {
			return registry.ErrEnded
		}
		select {
		case <-up:
		case <-s.life:
		case <-bound.Done():
			return fmt.Errorf("not sent: %w", bound.Err())
		}
	}
	select {
	case <-r.done:
		return r.err
	case <-bound.Done():
		return fmt.Errorf("%w: %w", registry.ErrUnknown, bound.Err())
	}
}

// send sends a request, and reports whether there is a connection.
func (s *remote) send(r *request) bool {
	delay, slept := s.network.delay(), s.network.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.connected {
		return false
	}
	r.number, r.sent, r.asleep = s.number, time.Now(), slept
	s.pending[r] = struct{}{}
	s.out.put(delay, func() { s.arrive(r) })
	return true
}

// arrive runs at the service when a request arrives.
func (s *remote) arrive(r *request) {
	deposed := s.network.isDeposed()
	s.mu.Lock()
	switch {
	case r.number != s.number || !s.connected:
		s.mu.Unlock()
		return // its outcome was decided when the connection was lost
	case r.kind != reading && (deposed || len(s.held) > 0):
		s.held = append(s.held, r)
		s.mu.Unlock()
		return
	case !deposed:
		s.arrived = time.Now()
	}
	s.mu.Unlock()
	s.carryOut(r)
}

// goOn has the service carry out the requests held by a server that is in contact with
// the others again.
func (s *remote) goOn() {
	if s.network.isDeposed() {
		return
	}
	s.mu.Lock()
	held := s.held
	s.held = nil
	if len(held) > 0 {
		s.arrived = time.Now()
	}
	s.mu.Unlock()
	for _, r := range held {
		s.carryOut(r)
	}
}

// carryOut executes a request and answers it.
func (s *remote) carryOut(r *request) {
	lost := r.kind == committing && s.network.losesAnswer()
	if lost && s.network.chance(0.5) {
		s.delayed(r)
		s.receiveAnswer(r, errLost)
		return
	}
	if r.kind == syncing {
		s.settle()
	}
	err := errLost
	if lost {
		s.unanswered(r)
	} else {
		err = r.do()
	}
	s.in.put(s.network.delay(), func() { s.receiveAnswer(r, err) })
}

// receiveAnswer runs at the client when an answer arrives.
func (s *remote) receiveAnswer(r *request, err error) {
	s.mu.Lock()
	if r.number != s.number || !s.connected {
		s.mu.Unlock()
		return
	}
	delete(s.pending, r)
	s.answered = time.Now()
	acknowledges := r.kind == committing || r.kind == syncing || r.kind == beating
	if acknowledges && (err == nil || errors.Is(err, registry.ErrConflict)) && r.sent.After(s.acked) {
		s.acked, s.ackedAsleep = r.sent, r.asleep
	}
	s.mu.Unlock()
	r.answer(err)
}

// settle carries out late requests, or loses them for good.
func (s *remote) settle() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, r := range late {
		if s.network.chance(0.5) {
			s.unanswered(r)
		}
	}
}

// unanswered carries out a request whose caller has gone. Its events may get lost with
// its answer, as from a server that is about to lose its connections.
func (s *remote) unanswered(r *request) {
	if !s.network.chance(0.5) {
		s.loseEvents(r.root, 1)
		defer s.loseEvents(r.root, -1)
	}
	_ = r.do()                             // no caller waits for it
	_ = s.inner.Sync(context.Background()) // by then all its events were delivered
}

func (s *remote) loseEvents(root string, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lostEvents == nil {
		s.lostEvents = map[string]int{}
	}
	s.lostEvents[root] += more
}

// delayed carries out a request later, unless a sync comes first.
func (s *remote) delayed(r *request) {
	s.mu.Lock()
	s.late = append(s.late, r)
	s.mu.Unlock()
	time.AfterFunc(s.network.within(3*time.Second), func() {
		s.mu.Lock()
		k := slices.Index(s.late, r)
		if k >= 0 {
			s.late = slices.Delete(s.late, k, k+1)
		}
		s.mu.Unlock()
		if k >= 0 {
			s.unanswered(r)
		}
	})
}
