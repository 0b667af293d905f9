// Package zk is the registry on a ZooKeeper ensemble. It guards against the weaknesses of a
// client library that has no deadlines, that continues with a new session when one has expired,
// and that drops events for which it has no room. It does not know what the nodes mean, and
// contains no recipes such as a latch.
//
// A session here is one session of ZooKeeper and has a client of its own. When it is over, its
// client cannot connect any more (see link), so none of its requests can reach the next
// session.
//
// Flow: New checks the options. Open creates a client, whose connections come from link: each
// goes to an address resolved at that moment, chosen in random order, and is wrapped by wire,
// which bounds every silence and adds requests that the library lacks. When a connection is
// gained or lost, connection decides what the session does, and session does it. Commit becomes
// one multi. Read becomes a get and a list of the same moment, and the gets of many reads
// become one request. The client's callback puts events into a queue; replies wait until the
// callback has received the events before them.
package zk

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	defaultPort    = client.DefaultPort
	defaultSession = 10 * time.Second
	minSession     = 100 * time.Millisecond
	maxSession     = time.Hour

	// maxRequest is the largest request that a server accepts by default (jute.maxbuffer),
	// without the length before it. A larger request ends the connection, and with it all other
	// requests in flight.
	maxRequest = 1<<20 - 1
	// defaultRequest leaves room for what servers add when they forward requests.
	defaultRequest = 1000 << 10
)

// Options of a registry. Only Servers is required.
type Options struct {
	// Servers are host or host:port. Names are resolved at each connection, and all their
	// addresses are tried.
	Servers []string
	// Chroot is the path that is "/" for sessions; empty: the service's root. It is created if
	// necessary.
	Chroot string
	// SessionTimeout is the requested time-out; the service may grant another, see
	// registry.Session. 0: 10 s.
	SessionTimeout time.Duration
	// Digest is "user:password"; then only that user can access the nodes that it creates.
	// Empty: every node is open to all.
	Digest string
	// TLS, if not nil, is used with every server. Each server must have a certificate for its
	// name as given in Servers.
	TLS *tls.Config
	// MaxRequest bounds an encoded transaction; above it Commit returns registry.ErrTooLarge.
	// 0: 1000 KiB. It must stay below the servers' jute.maxbuffer.
	MaxRequest int
	// ReadOnly prevents sessions from writing anything: Commit and Time fail with
	// registry.ErrReadOnly, and a missing chroot is not created.
	ReadOnly bool
	// Lookup resolves a name; nil is the resolver of the system.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Dial connects to an address; nil is TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger receives lost, regained and refused connections; nil discards them.
	Logger *slog.Logger
}

// Registry implements registry.Registry. Create one with New.
type Registry struct {
	options Options
	acl     []client.ACL

	mu       sync.Mutex // guards the fields below
	sessions map[*session]struct{}
	chrooted bool // the chroot is known to exist
	closed   bool

	// work counts the goroutines of sessions. To add one, hold mu, or hold the session's mu and
	// have seen that the session is not over.
	work sync.WaitGroup
}

var _ registry.Registry = (*Registry)(nil)

// New checks the options. It does not connect.
func New(o Options) (*Registry, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("zookeeper: no servers")
	}
	servers := make([]string, len(o.Servers))
	for i, s := range o.Servers {
		address, err := withPort(s)
		if err != nil {
			return nil, fmt.Errorf("zookeeper: server %q: %w", s, err)
		}
		servers[i] = address
	}
	o.Servers = servers
	o.Chroot = strings.TrimSuffix(o.Chroot, "/")
	if o.Chroot != "" && !registry.ValidPath(o.Chroot) {
		return nil, fmt.Errorf("zookeeper: chroot %q is not an absolute path", o.Chroot)
	}
	acl := client.WorldACL(client.PermAll)
	if o.Digest != "" {
		if user, password, ok := strings.Cut(o.Digest, ":"); !ok || user == "" || password == "" {
			return nil, errors.New("zookeeper: digest is not user:password")
		}
		// The service replaces this by the user.
		acl = client.AuthACL(client.PermAll)
	}
	o.SessionTimeout = cmp.Or(o.SessionTimeout, defaultSession)
	if o.SessionTimeout < minSession || o.SessionTimeout > maxSession {
		return nil, fmt.Errorf("zookeeper: session time-out %v is not between %v and %v", o.SessionTimeout, minSession, maxSession)
	}
	o.MaxRequest = cmp.Or(o.MaxRequest, defaultRequest)
	if o.MaxRequest < 0 || o.MaxRequest > maxRequest {
		return nil, fmt.Errorf("zookeeper: bound of requests %d is not between 1 and %d", o.MaxRequest, maxRequest)
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupHost
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Registry{options: o, acl: acl, sessions: make(map[*session]struct{})}, nil
}

// withPort completes an address. An IPv6 address with a port must be in brackets, so more than
// one colon without brackets is an address alone.
func withPort(server string) (string, error) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host, port = strings.Trim(server, "[]"), strconv.Itoa(defaultPort)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("%q is not a port", port)
	}
	if host == "" || strings.ContainsAny(host, "/ ,") {
		return "", errors.New("not host or host:port")
	}
	return net.JoinHostPort(host, port), nil
}

// Open starts a session. It tries the servers until ctx is over or, if ctx has no deadline, for
// one session time-out.
func (r *Registry) Open(ctx context.Context, on func(registry.Event)) (registry.Session, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		within, cancel := context.WithTimeout(ctx, r.options.SessionTimeout)
		defer cancel()
		ctx = within
	}
	s, err := r.begin(on)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		err = fmt.Errorf("open session with %s: %w", strings.Join(r.options.Servers, ", "), err)
		if last := s.link.trouble(); last != nil {
			err = fmt.Errorf("%w; the last attempt: %w; is ZooKeeper running there?", err, last)
		}
		_ = s.Close() // it returns none
		return nil, err
	}
	return s, nil
}

// begin creates a session that is not connected yet. on may be nil.
func (r *Registry) begin(on func(registry.Event)) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	s := newSession(r, on)
	conn, loop, err := client.Connect(r.options.Servers, r.options.SessionTimeout,
		client.WithHostProvider(s.link), client.WithDialer(s.link.dial),
		client.WithEventCallback(s.receive), client.WithLogger(quiet{}), client.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	s.conn = conn
	r.sessions[s] = struct{}{}
	r.work.Go(s.events.Run)
	r.work.Go(s.beat)
	r.work.Go(func() { s.cleanUp(loop) })
	return s, nil
}

// Close ends every session. It waits until the last callback has returned, so it must not be
// called from a callback.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	for s := range r.sessions {
		s.end(false)
	}
	r.mu.Unlock()
	r.work.Wait()
	return nil
}

// forget removes a session that has ended.
func (r *Registry) forget(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, s)
}

// quiet discards the log of the client library; link and session log the same more clearly.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
