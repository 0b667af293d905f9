package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/internal/events"
)

const (
	// maxInFlight bounds the operations in flight. More do not raise the throughput. Abandoned
	// operations count, too.
	maxInFlight = 64
	// beatsPerTimeout is how many keep-alives are sent within a session time-out, if no other
	// transaction is acknowledged.
	beatsPerTimeout = 6
)

// session implements registry.Session.
type session struct {
	registry *Registry
	conn     *client.Conn
	link     *link
	events   *events.Queue
	slots    chan struct{} // one is taken by each operation in progress
	lists    lists

	life context.Context //nolint:containedctx // the session's, not a call's
	over context.CancelFunc
	gone chan struct{} // closed when the service knows of the end

	id      atomic.Int64
	granted atomic.Int64 // a time.Duration

	mu         sync.Mutex // guards the fields below
	connection connection
	up         chan struct{} // closed while the connection is up
	lost       time.Time     // when the connection was lost
	late       map[*operation]struct{}
	acked      time.Time

	wishes  []wish // nodes to be read, the longest waiting first
	batches int    // number of batches of wishes in flight
}

// operation is one call of the client library.
type operation struct{ done chan struct{} }

// newSession returns a session without a client. It counts as cut off until the first connection.
func newSession(r *Registry, on func(registry.Event)) *session {
	s := &session{
		registry: r,
		events:   events.New(on),
		slots:    make(chan struct{}, maxInFlight),
		gone:     make(chan struct{}),
		up:       make(chan struct{}),
		lost:     time.Now(),
		late:     make(map[*operation]struct{}),
	}
	s.life, s.over = context.WithCancel(context.Background()) //nolint:forbidigo // it outlives the opening call, and ends with the session
	s.link = &link{
		life: s.life, servers: r.options.Servers, options: &r.options,
		third: func() time.Duration { return s.timeout() / 3 },
		wrap:  s.wrap,
	}
	return s
}

// wrap makes a wire of a new connection, for link. begun is when the session is requested on it,
// for hello.
func (s *session) wrap(c net.Conn, address string, patience time.Duration) *wire {
	begun := time.Now()
	w := newWire(c, patience)
	w.hello = func(id int64, granted time.Duration) (time.Duration, error) { return s.hello(begun, id, granted) }
	w.failed = func(err error) {
		_ = s.link.failed(address, fmt.Errorf("no session from %s: %w", address, err))
	}
	return w
}

func (s *session) ID() registry.SessionID { return registry.SessionID(s.id.Load()) }

func (s *session) Timeout() time.Duration { return time.Duration(s.granted.Load()) }

// timeout returns the granted session time-out or, before it is granted, the requested one.
func (s *session) timeout() time.Duration {
	if d := s.Timeout(); d > 0 {
		return d
	}
	return s.registry.options.SessionTimeout
}

func (s *session) isOver() bool { return s.life.Err() != nil }

// hello receives what a server answers first on a connection: the session's id and the granted
// time-out. begun is when the connection was made. It returns how long the server may be silent.
// The client library would continue with a different session as if nothing had happened; hello
// ends this session instead.
func (s *session) hello(begun time.Time, id int64, granted time.Duration) (time.Duration, error) {
	switch {
	case s.isOver():
		return 0, registry.ErrEnded
	case id == 0:
		// It expired; the library reports that in a moment. The time-out stays as it was, since 0
		// would say that the session cannot end.
		return s.timeout() / 3, nil
	case s.id.CompareAndSwap(0, id):
		s.acknowledge(begun) // a majority has created the session
	case s.id.Load() == id:
		// The server that resumes it may have been replaced.
	default:
		s.end(true)
		return 0, errMoved
	}
	s.granted.Store(int64(granted))
	return s.timeout() / 3, nil
}

// receive is the library's callback. It runs in the goroutine that receives replies and must
// not block.
func (s *session) receive(e client.Event) {
	if e.Type != client.EventSession {
		s.changed(e)
		return
	}
	switch e.State { //nolint:exhaustive // the others are steps towards these
	case client.StateHasSession:
		s.feed((*connection).connected)
	case client.StateDisconnected:
		s.feed((*connection).disconnected)
	case client.StateExpired:
		s.registry.options.Logger.Debug("the session expired", "session", s.ID())
		s.end(true)
	}
}

// feed passes an event to the connection, and carries out the orders at once, except for hangUp,
// which may block and is left to the caller.
func (s *session) feed(event func(*connection) orders) orders {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := event(&s.connection)
	if o.end {
		s.over() // under mu, so that code that sees the session alive under mu can rely on it
	}
	if o.hold {
		s.up, s.lost = make(chan struct{}), time.Now()
	}
	if o.emit != 0 {
		s.emit(o.emit)
	}
	if o.release {
		close(s.up)
	}
	if o.restore != nil {
		number, conn := s.connection.number, s.link.connection()
		s.registry.work.Go(func() { s.restore(number, conn, o.restore) })
	}
	return o
}

// emit puts an event of the session into its queue. mu must be held.
func (s *session) emit(kind registry.EventKind) {
	switch kind { //nolint:exhaustive // the others are not logged
	case registry.Suspended:
		s.registry.options.Logger.Debug("the connection is lost", "session", s.ID())
	case registry.Resumed:
		s.registry.options.Logger.Debug("connected again", "session", s.ID(), "after", time.Since(s.lost).String())
	}
	s.events.Put(registry.Event{Kind: kind})
}

// state returns the number of the newest connection, and a channel that is closed while a
// connection is up.
func (s *session) state() (number int, up chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connection.number, s.up
}

// settle makes a new session ready for use: it waits for a connection, names the user, and
// creates the chroot. It tries again if the connection is lost meanwhile.
func (s *session) settle(ctx context.Context) error {
	if err := s.authenticate(ctx); err != nil {
		return err
	}
	for {
		err := s.registry.makeChroot(ctx, s)
		if !errors.Is(err, client.ErrConnectionClosed) || ctx.Err() != nil {
			return err
		}
	}
}

// authenticate waits for a connection on which the service knows the user.
func (s *session) authenticate(ctx context.Context) error {
	for {
		number, err := s.connect(ctx, nil)
		if err != nil || s.registry.options.Digest == "" {
			return err
		}
		_, err = call(ctx, s, func() (struct{}, error) {
			return struct{}{}, s.conn.AddAuth("digest", []byte(s.registry.options.Digest))
		})
		if err != nil && !errors.Is(err, client.ErrConnectionClosed) {
			return s.readError("authenticate", err)
		}
		// The library authenticates again on each new connection, but not on one that was made
		// before it knew of our success.
		if again, _ := s.state(); err == nil && again == number {
			return nil
		}
	}
}

// connect waits until the session is connected, or ctx or the bound ends. It returns the number
// of the connection.
func (s *session) connect(ctx context.Context, bound <-chan time.Time) (number int, err error) {
	_, up := s.state()
	select {
	case <-up:
		number, _ = s.state()
		return number, nil
	case <-s.life.Done():
		return 0, registry.ErrEnded
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", errDisconnected, context.Cause(ctx))
	case <-bound:
		return 0, fmt.Errorf("%w: %w", errDisconnected, context.DeadlineExceeded)
	}
}

// makeChroot creates the missing nodes of the chroot, once.
func (r *Registry) makeChroot(ctx context.Context, s *session) error {
	r.mu.Lock()
	done := r.chrooted || r.options.Chroot == "" || r.options.ReadOnly
	r.mu.Unlock()
	if done {
		return nil
	}
	var path strings.Builder
	for name := range strings.SplitSeq(r.options.Chroot[1:], "/") {
		path.WriteString("/" + name)
		at := path.String()
		_, err := call(ctx, s, func() (string, error) { return s.conn.Create(at, []byte{}, 0, r.acl) })
		if errors.Is(err, client.ErrNodeExists) {
			continue
		}
		if errors.Is(err, client.ErrNoAuth) {
			// The node may exist anyway, created by a user with more permissions.
			there, e := call(ctx, s, func() (bool, error) { ok, _, e := s.conn.Exists(at); return ok, e }) //nolint:wrapcheck // the caller of call names it
			if e == nil && there {
				continue
			}
		}
		if err != nil {
			return s.readError("create the chroot "+at, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chrooted = true
	return nil
}

// end ends the session; lost says that the service ended it. Everything that waits for a
// connection is released, and no new connection is made.
func (s *session) end(lost bool) {
	s.feed(func(c *connection) orders { return c.finish(lost) })
}

// cleanUp waits until the session is over, and then ends what belongs to it. The library closes
// loop when its last goroutine ends.
func (s *session) cleanUp(loop <-chan client.Event) {
	<-s.life.Done()
	s.conn.Close() // waits up to a second for the service
	s.link.hangUp()
	for range loop {
	}
	s.feed((*connection).stopped)
	s.registry.forget(s)
	close(s.gone)
}

// Close implements registry.Session. It waits until the service knows of the end, or cannot be
// reached.
func (s *session) Close() error {
	s.end(false)
	<-s.gone
	return nil
}
