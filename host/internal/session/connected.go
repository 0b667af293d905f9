package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// connected is one session and the lines in it.
type connected struct {
	trunk   *Trunk
	session registry.Session
	judge   *judge
	clock   clock
	life    context.Context //nolint:containedctx // that of the session, not of a call
	end     context.CancelFunc
	ended   chan struct{} // closed when the session is over
	news    chan func(*slog.Logger)

	leaving sync.WaitGroup // one for each abandoned line

	making chan struct{} // holds one while the namespace is made: whoever waits for that can give up
	made   atomic.Bool   // it is there, or is being made

	mu    sync.RWMutex       // guards what follows; held while listeners are told
	lines map[string][]*Line // by root
	left  map[string]*Line   // abandoned lines, by root
	cut   bool               // the connection is lost
	doubt Trust              // as the lines were told last
	over  bool
}

// prepare makes the nodes above the jobs, unless that was done.
func (c *connected) prepare(ctx context.Context) (err error) {
	select {
	case c.making <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("the namespace is being made: %w", ctx.Err())
	}
	defer func() { <-c.making }()
	if c.made.Swap(true) {
		return nil
	}
	defer func() {
		if err != nil {
			c.made.Store(false)
		}
	}()
	for _, path := range c.trunk.o.Namespace {
		n, err := c.session.Read(ctx, path)
		if err != nil {
			return fmt.Errorf("read the namespace: %w", err)
		}
		if n.Exists {
			continue
		}
		_, err = c.session.Commit(ctx, registry.Op{Kind: registry.Create, Path: path})
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			return fmt.Errorf("create the namespace: %w", err)
		}
	}
	return nil
}

// doubtNamespace lets the next line look whether the namespace is still there. It
// does not wait for the registry.
func (c *connected) doubtNamespace() { c.made.Store(false) }

// add makes a line. It is nil if the session is over, or, which busy tells, if
// something of an earlier line is still there.
func (c *connected) add(root string, l Listener) (line *Line, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.left[root] != nil {
		return nil, !c.over
	}
	line = newLine(c, root, l)
	c.lines[root] = append(c.lines[root], line)
	if c.cut {
		l.Event(registry.Event{Kind: registry.Suspended})
	}
	return line, false
}

// abandon goes on closing a line until that succeeds, or the session ends.
func (c *connected) abandon(l *Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.left[l.root] = l
	c.leaving.Go(func() {
		for p := new(backoff.Backoff); c.life.Err() == nil && l.Close(c.life) != nil; {
			Sleep(c.life, p.Next())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.left, l.root)
	})
}

// finish lets no line be opened any more, and waits for those abandoned.
func (c *connected) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.leaving.Wait()
}

func (c *connected) remove(l *Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(l)
}

// drop is remove, with the lock held.
func (c *connected) drop(l *Line) {
	if c.lines[l.root] = slices.DeleteFunc(c.lines[l.root], func(o *Line) bool { return o == l }); len(c.lines[l.root]) == 0 {
		delete(c.lines, l.root)
	}
}

// hear is the session's callback.
func (c *connected) hear(e registry.Event) {
	if e.Kind == registry.Changed {
		c.mu.RLock()
		defer c.mu.RUnlock()
		for _, l := range c.lines[c.trunk.rootOf(e.Path)] {
			l.listener.Event(e)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind { //nolint:exhaustive // Changed is above
	case registry.Suspended:
		c.cut = true
		jobs := len(c.lines)
		c.say(func(log *slog.Logger) {
			log.Warn("the connection to the registry is lost", "reason_code", reason.ConnectionLost, "jobs", jobs)
		})
	case registry.Resumed:
		c.cut = false
		c.say(func(log *slog.Logger) { log.Info("the connection to the registry is back, in the same session") })
	case registry.Ended:
		c.over = true
		close(c.ended)
	}
	for _, of := range c.lines {
		for _, l := range of {
			l.listener.Event(e)
		}
	}
}

// rootOf is the root of the job that a path belongs to.
func (t *Trunk) rootOf(path string) string {
	above := len(strings.TrimSuffix(t.root(), "/"))
	if len(path) <= above {
		return path
	}
	if k := strings.IndexByte(path[above+1:], '/'); k >= 0 {
		return path[:above+1+k]
	}
	return path
}

// troubles says what ails this session.
func (c *connected) troubles() []reason.Reason {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []reason.Reason
	if c.cut {
		all = append(all, reason.Of(reason.ConnectionLost))
	}
	if c.doubt != Trusted {
		all = append(all, reason.Of(reason.SilentTooLong))
	}
	return all
}

// watch tells the lines how far the session can be trusted, until it ends. It
// waits for nothing but time.
func (c *connected) watch(ctx context.Context) {
	defer c.end()
	known := Trusted
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.judge.roused:
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
		level, silent, again, regained := c.judge.look()
		if again > 0 {
			timer.Reset(again)
		}
		if level == known && !regained {
			continue
		}
		c.tell(level)
		if level != known {
			c.report(level, silent)
		}
		known = level
	}
}

// tell tells every job how far the session is to be trusted.
func (c *connected) tell(level Trust) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubt = level
	for _, of := range c.lines {
		for _, l := range of {
			l.listener.Doubted(level)
		}
	}
}

func (c *connected) report(level Trust, silent time.Duration) {
	if level == Trusted {
		c.say(func(log *slog.Logger) { log.Info("the registry answers again") })
		return
	}
	consequence := "nothing begins, and guests are asked to stop unless their job lets them finish"
	if level == Expired {
		consequence = "guests are ended unless their job lets them finish"
	}
	c.say(func(log *slog.Logger) {
		log.Error("the registry has not answered for long", "reason_code", reason.SilentTooLong, "consequence", consequence, "for", silent.String(), "session_timeout", c.session.Timeout().String())
	})
}

// maxNews bounds the lines that wait for who writes the log; what is more is dropped.
const maxNews = 16

// say hands a line of the log to whoever writes it.
func (c *connected) say(line func(*slog.Logger)) {
	select {
	case c.news <- line:
	default:
	}
}
