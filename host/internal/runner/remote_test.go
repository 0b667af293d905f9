package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// usual is how long a way takes at most if nothing is wrong.
const usual = 5 * time.Millisecond

// network is the way of one server to a registry: it delays, loses and cuts, and
// the service ends a session of which it has not heard for the time-out. It is
// the connection of a client of ZooKeeper, as far as the port shows it: requests
// and answers keep their order, an answer comes after the events before it, and
// what is under way when a connection is lost may be carried out all the same.
type network struct {
	registry.Registry
	timeout time.Duration
	ended   func(*remote) // the service has ended a session; must not block
	// carriedOut receives each transaction that the service has carried out, requested each that it may.
	carriedOut func(ops []registry.Op, asked time.Time)
	requested  func([]registry.Op)
	breach     func(format string, args ...any)

	mu       sync.Mutex // guards what follows
	rng      *rand.Rand
	cut      bool
	deposed  bool          // the server at the other end answers reads alone
	outShut  bool          // what is sent does not arrive
	inShut   bool          // nor do answers and events
	slowest  time.Duration // of a way
	unknown  float64       // chance that a transaction comes to no answer
	sessions []*remote
	slept    time.Duration // of the machine, as if it had: the service's time went on
	woke     time.Time
	// persisted are the answers of the disk, stored the batches of rows that went to the history.
	persisted, stored int
}

func newNetwork(reg registry.Registry, timeout time.Duration, rng *rand.Rand) *network {
	n := &network{Registry: reg, timeout: timeout, rng: rng, slowest: usual, breach: func(string, ...any) {}}
	n.carriedOut, n.requested = func([]registry.Op, time.Time) {}, func([]registry.Op) {}
	return n
}

// change sets what is wrong with the network from now on.
func (n *network) change(how func(*network)) {
	n.mu.Lock()
	how(n)
	cut, sessions := n.cut, n.sessions
	outShut, inShut := n.outShut, n.inShut
	n.mu.Unlock()
	for _, s := range sessions {
		s.out.setShut(outShut)
		s.in.setShut(inShut)
		if cut {
			s.disconnect()
		}
		s.goOn()
	}
}

// sound ends all that is wrong.
func (n *network) sound() {
	n.change(func(n *network) {
		n.cut, n.deposed, n.outShut, n.inShut, n.slowest, n.unknown = false, false, false, false, 5*time.Millisecond, 0
	})
}

// sleep lets the machine have slept, for d at most: the service has waited meanwhile,
// and nothing here has gone on. It wakes in time to end what it has running.
func (n *network) sleep(d time.Duration) {
	sessions := n.opened()
	for _, s := range sessions {
		if s.alive() {
			d = min(d, n.timeout*7/10-s.silentFor())
		}
	}
	if d <= 2*time.Second {
		return // what is less may be noise
	}
	n.mu.Lock()
	n.slept, n.woke = n.slept+d, time.Now()
	n.mu.Unlock()
	for _, s := range sessions {
		s.passed(d)
	}
}

// asleep is for how long the machine has slept so far.
func (n *network) asleep() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.slept
}

// drowsy: the machine has just slept, and who watches over its sessions may not have
// looked yet.
func (n *network) drowsy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.woke.IsZero() && time.Since(n.woke) < n.timeout/20+margin
}

func (n *network) lastWoke() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.woke
}

func (n *network) opened() []*remote {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sessions)
}

// delay of one way.
func (n *network) delay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rng.Int64N(int64(n.slowest)))
}

// chance draws whether something happens that has a probability.
func (n *network) chance(p float64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rng.Float64() < p
}

func (n *network) within(d time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rng.Int64N(int64(d)))
}

func (n *network) losesAnswer() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unknown > 0 && n.rng.Float64() < n.unknown
}

func (n *network) reachable() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.cut && !n.outShut && !n.inShut
}

func (n *network) isDeposed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.deposed
}

// newest is the session that was opened last; nil: none was.
func (n *network) newest() *remote {
	all := n.opened()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// Open implements registry.Registry. A server that was replaced makes no session.
func (n *network) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	asked, slept := time.Now(), n.asleep()
	for !n.reachable() || n.isDeposed() {
		if !session.Sleep(ctx, 100*time.Millisecond) {
			return nil, fmt.Errorf("no connection: %w", ctx.Err())
		}
	}
	if !session.Sleep(ctx, n.delay()) {
		return nil, fmt.Errorf("no answer: %w", ctx.Err())
	}
	s := &remote{
		network: n, on: on, acked: asked, ackedAsleep: slept, arrived: time.Now(), answered: time.Now(),
		out: newPipe(), in: newPipe(), connected: true, up: make(chan struct{}), life: make(chan struct{}),
		pending: map[*request]struct{}{},
	}
	close(s.up)
	inner, err := n.Registry.Open(ctx, s.receive)
	if err != nil {
		return nil, err
	}
	s.inner = inner
	n.mu.Lock()
	n.sessions = append(n.sessions, s)
	n.mu.Unlock()
	go s.out.run()
	go s.in.run()
	go s.keep()
	s.expire()
	if !session.Sleep(ctx, n.delay()) {
		return nil, errors.Join(ctx.Err(), s.Close())
	}
	return s, nil
}

// Close leaves the registry open, which is the test's.
func (n *network) Close() error { return nil }
