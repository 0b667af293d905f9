package zk

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	// longPause is the pause after manyAttempts: quick attempts then gain nothing and load the
	// service.
	longPause    = time.Second
	manyAttempts = 100
	// minAttempt is the least time for one address, however many there are.
	minAttempt = 250 * time.Millisecond
)

// link gives the client library its connections. It is both the list of hosts and the dialer,
// because the library sleeps for a second whenever its list begins again, resolves names only
// once, and does not stop at the end of a session.
type link struct {
	// life ends with the session; after that nothing connects, so requests that the library
	// still holds cannot reach a later session.
	life    context.Context //nolint:containedctx // the library's dialer has no context
	servers []string
	options *Options
	// third returns a third of the session time-out: the longest time for one pass over all
	// addresses, and for a silence.
	third func() time.Duration
	// wrap makes a wire of a connection.
	wrap func(c net.Conn, address string, patience time.Duration) *wire

	mu       sync.Mutex // guards the fields below
	waiting  []endpoint // addresses of this pass that are still to be tried
	size     int        // number of addresses of this pass
	attempts int        // successive attempts without a session
	current  net.Conn
	last     error // why the last attempt failed
}

// endpoint is an address and the host name that it comes from.
type endpoint struct{ host, address string }

// Init, Len, Next and Connected make link the library's list of hosts. The library also asks it
// for names, but uses them only in its log.
func (l *link) Init([]string) error { return nil }

// Len returns the number of servers.
func (l *link) Len() int { return len(l.servers) }

// Next says that the list begins again only when the session is over, because the library then
// checks whether it has to stop.
func (l *link) Next() (string, bool) { return "any", l.life.Err() != nil }

// Connected says that the last connection has its session.
func (l *link) Connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts, l.last, l.waiting = 0, nil, nil
}

// dial is the library's dialer. It ignores the library's address and time-out: it tries the next
// address of link's own list. Each attempt gets its share of a third of the session time-out, and
// at least minAttempt.
func (l *link) dial(string, string, time.Duration) (net.Conn, error) {
	if err := l.pause(); err != nil {
		return nil, err
	}
	third := l.third()
	ctx, cancel := context.WithTimeout(l.life, third)
	defer cancel()
	at, err := l.next(ctx)
	if err != nil {
		return nil, l.failed("", err)
	}
	l.mu.Lock()
	patience := min(third, max(third/time.Duration(l.size), minAttempt))
	l.mu.Unlock()
	c, err := l.connect(ctx, at, patience)
	if err != nil {
		return nil, l.failed(at.address, err)
	}
	w := l.wrap(c, at.address, patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		return nil, errors.Join(l.life.Err(), c.Close())
	}
	l.current = w
	return w, nil
}

// pause waits before every pass over the addresses except the first, longer with each. It returns
// an error if the session is over.
func (l *link) pause() error {
	l.mu.Lock()
	round, n := 0, l.attempts
	if l.attempts++; l.size > 0 {
		round = n / l.size
	}
	begins := len(l.waiting) == 0 // a pass begins with this attempt
	l.mu.Unlock()
	if n == 0 || l.life.Err() == nil && !begins {
		return l.life.Err()
	}
	d := backoff.After(firstPause, lastPause, round+1)
	if n > manyAttempts {
		d = longPause
	}
	select {
	case <-time.After(backoff.Spread(d)):
	case <-l.life.Done():
	}
	return l.life.Err()
}

// round returns within which time every address is tried: in the rest of a pass, or in the next
// one, with the pause before it.
func (l *link) round() time.Duration { return 2*l.third() + longPause }

// next returns the next address of the present pass. For each new pass, names are resolved again.
func (l *link) next(ctx context.Context) (endpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.mu.Unlock()
		found, err := l.resolve(ctx)
		l.mu.Lock()
		if len(found) == 0 {
			return endpoint{}, err
		}
		l.waiting, l.size = found, len(found)
	}
	e := l.waiting[0]
	l.waiting = l.waiting[1:]
	return e, nil
}

// resolve returns all addresses of all servers in random order, so that members spread over the
// servers.
func (l *link) resolve(ctx context.Context) ([]endpoint, error) {
	var found []endpoint
	var faults []error
	for _, s := range l.servers {
		host, port, err := net.SplitHostPort(s)
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", s, err)
		}
		if net.ParseIP(host) != nil {
			found = append(found, endpoint{host, s})
			continue
		}
		addresses, err := l.options.Lookup(ctx, host)
		if err != nil {
			faults = append(faults, fmt.Errorf("resolve %s: %w", host, err))
		}
		for _, a := range addresses {
			found = append(found, endpoint{host, net.JoinHostPort(a, port)})
		}
	}
	if len(found) == 0 && len(faults) == 0 {
		return nil, errors.New("no server has an address")
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found, errors.Join(faults...)
}

// connect connects to an address within patience, by TLS if the options say so.
func (l *link) connect(ctx context.Context, at endpoint, patience time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := l.options.Dial(ctx, "tcp", at.address)
	if err != nil || l.options.TLS == nil {
		return c, err
	}
	config := l.options.TLS.Clone()
	config.ServerName = cmp.Or(config.ServerName, at.host)
	t := tls.Client(c, config)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS with %s: %w", at.address, err), c.Close())
	}
	return t, nil
}

// failed records why an attempt failed, for trouble, and returns err.
func (l *link) failed(address string, err error) error {
	l.mu.Lock()
	l.last = err
	l.mu.Unlock()
	if l.life.Err() == nil {
		l.options.Logger.Debug("no connection to the registry", slog.String("address", address), slog.Any("error", err))
	}
	return err
}

// trouble returns why there is no connection, if known.
func (l *link) trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// connection returns the newest connection.
func (l *link) connection() net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// hangUp closes the connection.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		_ = l.current.Close() // it may be closed already
	}
}
