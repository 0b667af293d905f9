package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Options configure a Server. Only Registry is required.
type Options struct {
	Registry registry.Registry
	// Namespace lists the nodes above all jobs, from the outermost to the parent of
	// the jobs. If it is empty, the parent is the root.
	Namespace []string
	Log       *slog.Logger // must not block; nil discards
	// Slept returns how long the machine has been asleep so far, which Go's clock
	// does not count; nil: ask the kernel.
	Slept func() time.Duration
}

// Listener receives the events of a job session. Its methods are called one at a
// time in the order of the session, except HealthChanged, which may be called at
// any moment. They must neither block nor call the job session. A listener with a
// loop of its own also implements Loop.
type Listener interface {
	// Event receives a change of one of the job's nodes, or of the connection.
	// Nothing follows Ended.
	Event(e registry.Event)
	// HealthChanged receives the health of the session when it changes, and may
	// repeat it. When it is Lost, whatever must not outlive the session has to be
	// ended before the method returns, or to end by itself soon: other members may
	// own the job's items a quarter of the time-out later.
	HealthChanged(now Health)
}

// Server keeps the registry session of a server: one at a time, and a new one after
// each end. Create it with New.
type Server struct {
	options Options
	pool    pool

	mu      sync.Mutex    // guards the fields below
	current *openSession  // nil while there is no session
	changed chan struct{} // closed when current changes
	away    reason.Reason // why there is no session
}

// New returns a Server. It does nothing before Run.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Slept == nil {
		o.Slept = timeAsleep
	}
	return &Server{options: o, changed: make(chan struct{}), away: unopened("not opened yet")}
}

// Troubles returns what is wrong with the session now; nothing if all is well.
func (s *Server) Troubles() []reason.Reason {
	s.mu.Lock()
	c, away := s.current, s.away
	s.mu.Unlock()
	if c == nil {
		return []reason.Reason{away}
	}
	return c.troubles()
}

// Skew returns by how many ms this server's clock is ahead of the registry's; 0 if that
// is not known.
func (s *Server) Skew() int64 {
	if c := s.session(); c != nil {
		return c.clock.skew()
	}
	return 0
}

// Waiting returns the roots of the jobs for whose loops events wait, and how many turns
// each loop has begun.
func (s *Server) Waiting() map[string]uint64 {
	c := s.session()
	if c == nil {
		return nil
	}
	waiting := map[string]uint64{}
	for j, l := range c.stalledLoops(nil) {
		waiting[j.root] = l.turn
	}
	return waiting
}

// session returns the open session; nil if there is none.
func (s *Server) session() *openSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Run keeps a session open until ctx ends, and then closes it. It returns when all
// its goroutines have ended. All job sessions must be closed before ctx ends.
func (s *Server) Run(ctx context.Context) error {
	defer s.pool.workers.Wait()
	away := false // an attempt has failed since the last session
	attempt := firstAttempt
	for p := new(backoff.Backoff); ctx.Err() == nil; {
		c, err := s.openSession(ctx, attempt)
		if err != nil {
			s.setCurrent(nil, unopened(err.Error()))
			if ctx.Err() == nil && !away {
				away = true
				s.options.Log.Error("cannot open a registry session; no run begins until one is open", "reason_code", reason.SessionUnopened, "error", err)
			}
			attempt = min(2*attempt, lastAttempt)
			Sleep(ctx, p.Next())
			continue
		}
		attempt = firstAttempt
		if away {
			away = false
			s.options.Log.Info("opened a registry session after failed attempts", "session", c.session.ID())
		}
		begun := time.Now()
		err = s.keepSession(ctx, c)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > backoff.Last {
			p = new(backoff.Backoff)
		}
		wait := p.Next()
		log := s.options.Log
		if err != nil { // nil: it expired
			log = log.With("error", err)
		}
		log.Warn("the registry session ended, and with it all its runs; another session will be opened", "reason_code", reason.SessionEnded, "session", c.session.ID(), "pause", wait.String())
		Sleep(ctx, wait)
	}
	return nil
}

// keepSession offers c to Open until the session or ctx ends, and then closes it. It also
// writes the log, which may block and therefore must not be written under the
// session's lock.
func (s *Server) keepSession(ctx context.Context, c *openSession) error {
	s.setCurrent(c, reason.Reason{})
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx) })
	watching.Go(func() { c.watchLoops(ctx) })
	watching.Go(func() { c.watchTime(ctx) })
	for going := true; going; {
		select {
		case say := <-c.logs:
			say(s.options.Log)
		case <-c.ctx.Done():
			going = false
		}
	}
	watching.Wait()
	c.awaitAbandoned()
	s.setCurrent(nil, reason.Of(reason.SessionEnded))
	if err := c.session.Close(); err != nil && !errors.Is(err, registry.ErrEnded) {
		return fmt.Errorf("close the registry session: %w", err)
	}
	return nil
}

// These bound an attempt to open a session, so that the log soon says what is
// wrong. The bound grows, for services that are slow.
const (
	firstAttempt = 2 * time.Second
	lastAttempt  = time.Minute
)

// openSession opens a session and creates the namespace. It takes at most the time bound.
func (s *Server) openSession(ctx context.Context, bound time.Duration) (*openSession, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	c := &openSession{server: s, ctx: life, cancel: end, jobs: map[string][]*Job{}, abandoned: map[string]*Job{}, ended: make(chan struct{}), namespaceLock: make(chan struct{}, 1), logs: make(chan func(*slog.Logger), maxLogs)}
	asked := s.moment() // the service may count the session's time-out from here
	session, err := s.options.Registry.Open(ctx, c.receive)
	if err != nil {
		end()
		return nil, fmt.Errorf("open a registry session: %w", err)
	}
	c.session, c.monitor = session, newMonitor(session, s.moment, asked)
	c.clock = clock{now: s.moment, inside: session.Timeout() == 0}
	err = session.Follow(ctx, s.root()) // before anything is read, so that no change is missed
	if err == nil {
		err = c.prepareNamespace(ctx)
	}
	if err == nil {
		if err := c.fetchTime(ctx); err != nil { // not fatal: transactions carry the time, too
			c.logLater(func(log *slog.Logger) {
				log.Info("cannot ask the registry for its time; using the time of transactions", "error", err)
			})
		}
	}
	if err != nil {
		c.cancel()
		return nil, errors.Join(err, session.Close())
	}
	return c, nil
}

// root returns the parent of all jobs.
func (s *Server) root() string {
	if n := len(s.options.Namespace); n > 0 {
		return s.options.Namespace[n-1]
	}
	return "/"
}

// unopened is why there is no session: none could be opened.
func unopened(why string) reason.Reason { return reason.Of(reason.SessionUnopened, why) }

// setCurrent makes c the session that Open uses; if c is nil, away says why there is none.
func (s *Server) setCurrent(c *openSession, away reason.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
	if c == s.current {
		return
	}
	s.current = c
	close(s.changed)
	s.changed = make(chan struct{})
}

// Open waits for a session and returns a job session for root, which is a child of
// the namespace or the namespace itself. l receives its events. Several job sessions of one
// root receive its events, but only one of them at a time may create nodes there. Open also
// waits while nodes of an abandoned job session of root are still there.
func (s *Server) Open(ctx context.Context, root string, l Listener) (*Job, error) {
	for {
		s.mu.Lock()
		c, changed := s.current, s.changed
		s.mu.Unlock()
		if c == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for a registry session: %w", ctx.Err())
			}
		}
		if err := c.prepareNamespace(ctx); err != nil {
			return nil, err
		}
		job, busy := c.addJob(root, l)
		switch {
		case job != nil:
			return job, nil
		case busy:
			if Sleep(ctx, backoff.First); ctx.Err() != nil {
				return nil, fmt.Errorf("wait until the earlier nodes of the job are gone: %w", ctx.Err())
			}
			continue
		}
		select { // c has ended; Run will replace it
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a registry session: %w", ctx.Err())
		}
	}
}
