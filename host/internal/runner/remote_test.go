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

// usual is the longest one-way delay on a healthy network.
const usual = 5 * time.Millisecond

// network connects one server to a registry. It delays, loses and cuts messages, and the
// service ends a session after it has received nothing for the time-out. It behaves like
// a ZooKeeper client's connection, as far as the port shows it: requests and answers keep
// their order, an answer comes after earlier events, and requests under way when a
// connection is lost may still be carried out.
type network struct {
	registry.Registry
	timeout time.Duration
	ended   func(*remote) // called when the service has ended a session; must not block
	// carriedOut receives each transaction that the service has carried out, and
	// requested each that it may carry out.
	carriedOut func(ops []registry.Op, asked time.Time)
	requested  func([]registry.Op)
	breach     func(format string, args ...any)

	mu       sync.Mutex // guards the fields below
	rng      *rand.Rand
	cut      bool
	deposed  bool          // the server at the other end answers only reads
	outShut  bool          // requests do not arrive
	inShut   bool          // answers and events do not arrive
	slowest  time.Duration // longest one-way delay
	unknown  float64       // probability that a transaction gets no answer
	sessions []*remote
	slept    time.Duration // simulated sleep of the machine, during which the service's time went on
	woke     time.Time
	// persisted counts the answers of the disk, and stored the batches of rows that went
	// to the history.
	persisted, stored int
}

func newNetwork(reg registry.Registry, timeout time.Duration, rng *rand.Rand) *network {
	n := &network{Registry: reg, timeout: timeout, rng: rng, slowest: usual, breach: func(string, ...any) {}}
	n.carriedOut, n.requested = func([]registry.Op, time.Time) {}, func([]registry.Op) {}
	return n
}

// change changes the faults of the network.
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

// sound ends all faults of the network.
func (n *network) sound() {
	n.change(func(n *network) {
		n.cut, n.deposed, n.outShut, n.inShut, n.slowest, n.unknown = false, false, false, false, 5*time.Millisecond, 0
	})
}

// sleep simulates that the machine slept for at most d: time passed at the service but
// not here. The machine wakes in time to end what it runs.
func (n *network) sleep(d time.Duration) {
	sessions := n.opened()
	for _, s := range sessions {
		if s.alive() {
			d = min(d, n.timeout*7/10-s.silentFor())
		}
	}
	if d <= 2*time.Second {
		return // less may be noise
	}
	n.mu.Lock()
	n.slept, n.woke = n.slept+d, time.Now()
	n.mu.Unlock()
	for _, s := range sessions {
		s.passed(d)
	}
}

// asleep returns how long the machine has slept in total.
func (n *network) asleep() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.slept
}

// drowsy reports whether the machine has just slept, and the watchers of its sessions may
// not have noticed.
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

// delay draws a one-way delay.
func (n *network) delay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Duration(n.rng.Int64N(int64(n.slowest)))
}

// chance draws an event with the given probability.
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

// newest returns the session that was opened last, or nil.
func (n *network) newest() *remote {
	all := n.opened()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// Open implements registry.Registry. A replaced server opens no session.
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

// Close does nothing: the registry belongs to the test.
func (n *network) Close() error { return nil }
