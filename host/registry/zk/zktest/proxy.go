package zktest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
)

// Mode is how a proxy treats data.
type Mode uint8

const (
	// Pass forwards everything.
	Pass Mode = iota
	// Freeze keeps connections open and forwards nothing, like a network that loses packets.
	// Held data is forwarded after Pass.
	Freeze
	// Mute forwards requests and holds the replies.
	Mute
	// Refuse closes every connection, including future ones.
	Refuse
)

// Proxy stands between clients and one server.
type Proxy struct {
	ctx      context.Context //nolint:containedctx // the test's, without its end
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // on mu
	target  string
	mode    Mode
	over    bool
	open    map[net.Conn]struct{}
	first   [][]byte // the first data of each connection
}

// NewProxy forwards connections to target until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.WithoutCancel(t.Context()), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{ctx: context.WithoutCancel(t.Context()), listener: l, target: target, open: map[net.Conn]struct{}{}}
	p.changed.L = &p.mu
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Address returns the address for clients.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Set changes the mode.
func (p *Proxy) Set(m Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == Refuse {
		p.hangUp()
	}
	p.changed.Broadcast()
}

// Cut closes every connection. The mode applies to future ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangUp()
}

// Lead forwards future connections to another server.
func (p *Proxy) Lead(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Openings returns the first data of each connection so far.
func (p *Proxy) Openings() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.first...)
}

// hangUp closes every connection. mu must be held.
func (p *Proxy) hangUp() {
	for c := range p.open {
		_ = c.Close() // both ends see it
	}
	clear(p.open)
	p.changed.Broadcast()
}

// close ends all connections, and waits until nothing is forwarded any more.
func (p *Proxy) close() {
	p.mu.Lock()
	p.over = true
	p.hangUp()
	p.mu.Unlock()
	_ = p.listener.Close() // ends accept
	p.work.Wait()
}

// accept takes connections of clients until the proxy is closed.
func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target, refuse := p.target, p.mode == Refuse || p.over
		p.mu.Unlock()
		if refuse {
			_ = c.Close() // it is refused
			continue
		}
		p.work.Go(func() { p.carry(c, target) })
	}
}

// carry forwards a client's connection to the server and back, until one side ends it. In mode
// Mute only requests pass.
func (p *Proxy) carry(c net.Conn, target string) {
	s, err := new(net.Dialer).DialContext(p.ctx, "tcp", target)
	if err != nil {
		_ = c.Close() // as the server would
		return
	}
	p.mu.Lock()
	p.open[c], p.open[s] = struct{}{}, struct{}{}
	if p.over || p.mode == Refuse {
		p.hangUp()
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pump(c, s, Pass, Mute) })
	both.Go(func() { p.pump(s, c, Pass) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	delete(p.open, s)
}

// pump forwards data from one side to the other while the proxy is in one of the given modes. The
// pump with several modes is that of requests, which also keeps the first data.
func (p *Proxy) pump(from, to net.Conn, modes ...Mode) {
	defer func() { _, _ = from.Close(), to.Close() }() // the other pump sees it
	buffer := make([]byte, 64<<10)
	for first := len(modes) > 1; ; first = false {
		n, err := from.Read(buffer)
		if first {
			p.mu.Lock()
			p.first = append(p.first, append([]byte(nil), buffer[:n]...))
			p.mu.Unlock()
		}
		if n > 0 && !p.allowed(from, modes) {
			return
		}
		if _, e := to.Write(buffer[:n]); err != nil || e != nil {
			return
		}
	}
}

// allowed waits until the proxy is in one of the modes; false if the connection ended.
func (p *Proxy) allowed(c net.Conn, modes []Mode) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if _, open := p.open[c]; !open {
			return false
		}
		if slices.Contains(modes, p.mode) {
			return true
		}
		p.changed.Wait()
	}
}
