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

// Options say what a Trunk works with. Only Registry is needed.
type Options struct {
	Registry registry.Registry
	// Namespace are the nodes above all jobs, the outermost first; the last is
	// the parent of each job. None is the root.
	Namespace []string
	Log       *slog.Logger // must not block; nil discards
	// Slept is for how long the machine has slept so far, as Go's clock does not tell;
	// nil: as the kernel says.
	Slept func() time.Duration
}

// Listener is a job, to its line. Its methods are called one at a time in the
// order of the session, save Doubted, which may come at any moment. They must
// not block, nor call the line. One with a loop of its own is a Loop, too.
type Listener interface {
	// Event takes a change of a node of the job, or what happens to the
	// connection. Nothing follows Ended.
	Event(e registry.Event)
	// Doubted says that the trust in the session is another now. When it is Expired,
	// what must not outlive the session has to be ended before it returns, or to end
	// by itself soon: others may have the job's items a quarter of the time-out later.
	Doubted(now Trust)
}

// Trunk is the session of a server, and those that follow it. Make it with
// New.
type Trunk struct {
	o    Options
	pool pool

	mu      sync.Mutex // guards what follows
	now     *connected // nil: there is no session
	changed chan struct{}
	away    reason.Reason // why there is none
}

// New makes a Trunk; nothing starts before Run.
func New(o Options) *Trunk {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Slept == nil {
		o.Slept = suspended
	}
	return &Trunk{o: o, changed: make(chan struct{}), away: unopened("not opened yet")}
}

// Troubles says what ails the session at present; none if all is well.
func (t *Trunk) Troubles() []reason.Reason {
	t.mu.Lock()
	c, away := t.now, t.away
	t.mu.Unlock()
	if c == nil {
		return []reason.Reason{away}
	}
	return c.troubles()
}

// Run keeps a session open until ctx ends, and then closes it. It returns when
// nothing that it started is left. All lines must have been closed before.
func (t *Trunk) Run(ctx context.Context) error {
	defer t.pool.work.Wait()
	away := false
	attempt := firstAttempt
	for p := new(backoff.Backoff); ctx.Err() == nil; {
		c, err := t.open(ctx, attempt)
		if err != nil {
			t.set(nil, unopened(err.Error()))
			if ctx.Err() == nil && !away {
				away = true
				t.o.Log.Error("there is no registry session, nothing begins; trying again until there is", "reason_code", reason.SessionUnopened, "error", err)
			}
			attempt = min(2*attempt, lastAttempt)
			Sleep(ctx, p.Next())
			continue
		}
		attempt = firstAttempt
		if away {
			away = false
			t.o.Log.Info("there is a registry session at last", "session", c.session.ID())
		}
		begun := time.Now()
		err = t.use(ctx, c)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(begun) > backoff.Last {
			p = new(backoff.Backoff)
		}
		wait := p.Next()
		t.o.Log.Warn("the registry session ended, all that ran in it has been ended; there will be another", "reason_code", reason.SessionEnded, "session", c.session.ID(), "pause", wait.String(), "error", err)
		Sleep(ctx, wait)
	}
	return nil
}

// use lets lines be opened in c until it or ctx ends, and closes it. It is also
// who writes the log, which is called beside the session's own lock.
func (t *Trunk) use(ctx context.Context, c *connected) error {
	t.set(c, reason.Reason{})
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx) })
	watching.Go(func() { c.watchLoops(ctx) })
	watching.Go(func() { c.keepTime(ctx) })
	for going := true; going; {
		select {
		case say := <-c.news:
			say(t.o.Log)
		case <-c.life.Done():
			going = false
		}
	}
	watching.Wait()
	c.finish()
	t.set(nil, reason.Of(reason.SessionEnded))
	if err := c.session.Close(); err != nil && !errors.Is(err, registry.ErrEnded) {
		return fmt.Errorf("close the registry session: %w", err)
	}
	return nil
}

// An attempt to open a session is bounded, so that whoever waits is told why.
// The bound grows, for a service that is slow.
const (
	firstAttempt = 2 * time.Second
	lastAttempt  = time.Minute
)

// open opens a session and makes the namespace.
func (t *Trunk) open(ctx context.Context, bound time.Duration) (*connected, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	c := &connected{trunk: t, life: life, end: end, lines: map[string][]*Line{}, left: map[string]*Line{}, ended: make(chan struct{}), making: make(chan struct{}, 1), news: make(chan func(*slog.Logger), maxNews)}
	asked := t.thisMoment() // from here on the service may count the session's time-out
	session, err := t.o.Registry.Open(ctx, c.hear)
	if err != nil {
		end()
		return nil, fmt.Errorf("open a registry session: %w", err)
	}
	c.session, c.judge = session, newJudge(session, t.thisMoment, asked)
	c.clock = clock{moment: t.thisMoment, inside: session.Timeout() == 0}
	err = session.Follow(ctx, t.root()) // before anything is read
	if err == nil {
		err = c.prepare(ctx)
	}
	if err == nil {
		if err := c.askTheTime(ctx); err != nil { // transactions tell it, too
			c.say(func(log *slog.Logger) {
				log.Info("the registry does not tell the time when it is asked; transactions tell it", "error", err)
			})
		}
	}
	if err != nil {
		c.end()
		return nil, errors.Join(err, session.Close())
	}
	return c, nil
}

// root is the node above all jobs.
func (t *Trunk) root() string {
	if n := len(t.o.Namespace); n > 0 {
		return t.o.Namespace[n-1]
	}
	return "/"
}

func unopened(why string) reason.Reason { return reason.Of(reason.SessionUnopened, why) }

// set says which session is to be used; if there is none, away says why.
func (t *Trunk) set(c *connected, away reason.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away = away
	if c == t.now {
		return
	}
	t.now = c
	close(t.changed)
	t.changed = make(chan struct{})
}

// Open waits for a session and gives a line of the job at root, a child of the
// namespace, or of the namespace itself. Each line at a root hears of all below
// it; but only one of them at a time may make anything there.
func (t *Trunk) Open(ctx context.Context, root string, l Listener) (*Line, error) {
	for {
		t.mu.Lock()
		c, changed := t.now, t.changed
		t.mu.Unlock()
		if c == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for a registry session: %w", ctx.Err())
			}
		}
		if err := c.prepare(ctx); err != nil {
			return nil, err
		}
		line, busy := c.add(root, l)
		switch {
		case line != nil:
			return line, nil
		case busy:
			if Sleep(ctx, backoff.First); ctx.Err() != nil {
				return nil, fmt.Errorf("wait until nothing of the job is left: %w", ctx.Err())
			}
			continue
		}
		select { // it has ended; Run will notice
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a registry session: %w", ctx.Err())
		}
	}
}
