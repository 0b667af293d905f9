// Package connections bounds the open connections of an HTTP server, so that no client
// can keep others out by holding connections. It does not look at requests.
//
// If a new connection finds no place, a connection is closed that waits for a request: of
// the address with the most connections, the one that has waited longest. A connection
// counts as working only while a handler runs. So a head or a body that does not come,
// and an answer that the client does not read, keep no place.
//
// Flow: New wraps a listener → Context and Handler report each request to it → Of finds
// the connection of a request.
package connections

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// Most is the maximum number of open connections.
	Most = 64
	// grace is how long a connection may wait before it can be closed. Without it, a
	// flood would push out connections whose request is already in the buffers.
	grace = 50 * time.Millisecond
)

// Listener is a listener that bounds its open connections.
type Listener struct {
	net.Listener
	places chan struct{} // one element for each connection
	rested chan struct{} // has an element after a connection has begun to wait
	done   <-chan struct{}

	mu    sync.Mutex
	waits []*conn        // connections without a request, the longest-waiting first; guarded by mu
	of    map[string]int // open connections by address; guarded by mu
}

// New returns a listener for the connections of l. It accepts none after done is closed.
func New(l net.Listener, done <-chan struct{}) *Listener {
	return &Listener{Listener: l, places: make(chan struct{}, Most), rested: make(chan struct{}, 1), done: done, of: map[string]int{}}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http distinguishes errors by their type
	}
	if !l.await() {
		_ = accepted.Close() // the server is ending
		return nil, net.ErrClosed
	}
	c := &conn{Conn: accepted, of: l, from: Address(accepted.RemoteAddr().String())}
	c.leave = sync.OnceFunc(func() { // Close may be called twice
		l.remove(c)
		<-l.places
	})
	l.add(c)
	return c, nil
}

// await acquires a place. If there is none, it closes a waiting connection as soon as it
// may. It returns false when the server ends.
func (l *Listener) await() bool {
	for {
		select { // a connection that was just closed has left a place
		case l.places <- struct{}{}:
			return true
		default:
		}
		soon, stop := l.giveWay()
		select {
		case l.places <- struct{}{}:
			stop()
			return true
		case <-soon:
		case <-l.rested:
		case <-l.done:
			stop()
			return false
		}
		stop()
	}
}

// giveWay closes the connection that next returns, to make room. If that has not waited for long enough,
// soon receives when it has. soon is nil if the connection was closed, or if none waits. stop frees the
// timer of soon.
func (l *Listener) giveWay() (soon <-chan time.Time, stop func()) {
	l.mu.Lock()
	next, early := l.next(), time.Duration(0)
	if next != nil {
		early = grace - time.Since(next.since)
	}
	l.mu.Unlock()
	switch {
	case next == nil:
		return nil, func() {}
	case early > 0:
		t := time.NewTimer(early)
		return t.C, func() { t.Stop() }
	case l.work(next): // false: its request has come meanwhile
		_ = next.Close() // it has sent no request
	}
	return nil, func() {}
}

// next returns the connection to close next; nil if none waits. The caller holds mu.
func (l *Listener) next() *conn {
	var next *conn
	for _, c := range l.waits {
		if next == nil || l.of[c.from] > l.of[next.from] {
			next = c
		}
	}
	return next
}

// add registers a new connection, which waits for a request.
func (l *Listener) add(c *conn) {
	l.mu.Lock()
	l.of[c.from]++
	l.mu.Unlock()
	l.rest(c)
}

// rest records that a connection waits for a request.
func (l *Listener) rest(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return
	}
	c.since = time.Now()
	l.waits = append(l.waits, c)
	select {
	case l.rested <- struct{}{}:
	default: // await has not seen an earlier one yet
	}
}

// work records that a connection no longer waits. It returns false if the connection did not wait: it was
// closed, or already works.
func (l *Listener) work(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waits, c)
	if i < 0 {
		return false
	}
	l.waits = slices.Delete(l.waits, i, i+1)
	return true
}

// remove records that a connection is closed.
func (l *Listener) remove(c *conn) {
	l.work(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	c.closed = true
	if l.of[c.from]--; l.of[c.from] == 0 {
		delete(l.of, c.from)
	}
}

// conn is a connection that releases its place when it is closed.
type conn struct {
	net.Conn
	of     *Listener
	from   string // its address
	leave  func()
	since  time.Time // when it began to wait, guarded by the listener's mu
	closed bool      // guarded by the listener's mu
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close() //nolint:wrapcheck // implements the connection
}

// connKey is the key of a conn in a context.
type connKey struct{}

// Context is the ConnContext of a server.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Of returns the connection of a request as the listener accepted it, or nil if it is
// unknown.
func Of(r *http.Request) net.Conn {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return nil
	}
	return c.Conn
}

// Handler wraps h for a server that uses Context. A request does not begin if its
// connection was closed to make room. The connection waits again when h has returned,
// although net/http may still be waiting for the rest of a body that h did not read.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			if !c.of.work(c) { // closed to make room
				return
			}
			defer c.of.rest(c)
		}
		h.ServeHTTP(w, r)
	})
}

// Address returns what identifies a caller by its remote address: an IPv4 address, or the
// /64 network of an IPv6 address, since one caller may use every address in such a network.
func Address(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	a := at.Addr().Unmap()
	if a.Is6() {
		if network, err := a.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return a.String()
}
