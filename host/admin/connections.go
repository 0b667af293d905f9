package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
)

// limitedListener is a listener with a limit of open connections. When one more comes, the
// connection gives way that has waited longest for a request: whoever holds connections
// and asks nothing keeps nobody out. While all of them work, the next one waits.
type limitedListener struct {
	net.Listener
	places chan struct{} // one for each connection
	rested chan struct{} // has one element after a connection has begun to wait
	done   <-chan struct{}

	mu    sync.Mutex
	waits []*limitedConn // those without a request, the longest first, guarded by mu
}

func newLimitedListener(l net.Listener, done <-chan struct{}) *limitedListener {
	return &limitedListener{Listener: l, places: make(chan struct{}, maxConnections), rested: make(chan struct{}, 1), done: done}
}

// Accept implements net.Listener.
func (b *limitedListener) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http distinguishes errors by their type
	}
	if !b.await() {
		_ = accepted.Close() // nobody is told of the end
		return nil, net.ErrClosed
	}
	c := &limitedConn{Conn: accepted, of: b, peer: sync.OnceValue(func() string { return peerOf(accepted) })}
	c.leave = sync.OnceFunc(func() {
		b.work(c)
		<-b.places
	})
	b.rest(c)
	return c, nil
}

// await takes a place, for which a connection gives way as soon as one can. It returns false at the end.
func (b *limitedListener) await() bool {
	for {
		select { // who gave way has left a place, whatever else has happened since
		case b.places <- struct{}{}:
			return true
		default:
		}
		b.mu.Lock()
		var oldest *limitedConn
		if len(b.waits) > 0 {
			oldest = b.waits[0]
		}
		b.mu.Unlock()
		if oldest != nil && b.work(oldest) {
			_ = oldest.Close() // it asked nothing
		}
		select {
		case b.places <- struct{}{}:
			return true
		case <-b.rested:
		case <-b.done:
			return false
		}
	}
}

// rest says that a connection waits for a request.
func (b *limitedListener) rest(c *limitedConn) {
	b.mu.Lock()
	b.waits = append(b.waits, c)
	b.mu.Unlock()
	select {
	case b.rested <- struct{}{}:
	default:
	}
}

// work says that a connection waits no more. It returns false for one that did not wait:
// it gave way, or is closed.
func (b *limitedListener) work(c *limitedConn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waits, c)
	if i < 0 {
		return false
	}
	b.waits = slices.Delete(b.waits, i, i+1)
	return true
}

// limitedConn is a connection that releases its place when it is closed.
type limitedConn struct {
	net.Conn
	of    *limitedListener
	leave func()
	peer  func() string // the user at the other end of a socket, or ""
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close() //nolint:wrapcheck // implements the connection
}

// connKey is the key of a limitedConn in a context.
type connKey struct{}

// withConn implements the ConnContext of a server.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// isSecured reports whether a request came over TLS, which net/http does not see below the
// limit of connections.
func isSecured(r *http.Request) bool {
	c, ok := r.Context().Value(connKey{}).(*limitedConn)
	if !ok {
		return r.TLS != nil
	}
	_, secured := c.Conn.(*tls.Conn)
	return secured
}

// begins reports whether a request may begin: its connection did not give way meanwhile.
func begins(r *http.Request) bool {
	c, ok := r.Context().Value(connKey{}).(*limitedConn)
	return !ok || c.of.work(c)
}

// rests implements the ConnState of a server. A connection is idle after its answer is sent,
// which is later than the handler's end.
func rests(conn net.Conn, state http.ConnState) {
	if c, ok := conn.(*limitedConn); ok && state == http.StateIdle {
		c.of.rest(c)
	}
}
