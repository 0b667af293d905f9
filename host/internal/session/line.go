package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Line is one job's share of the session, from Open until Close or until the
// session ends. It keeps account of what the job does, so that Close can undo
// what must not outlive it. All methods are safe for concurrent use.
type Line struct {
	of       *connected
	root     string
	listener Listener
	work     sync.WaitGroup // one for each request

	mu        sync.Mutex // guards what follows
	closed    bool
	commits   int            // so far
	unsettled bool           // one of them came to no answer
	made      map[string]int // ephemeral nodes that may be there, by the commit that made them
}

var _ registry.Requests = (*Line)(nil)

func newLine(c *connected, root string, l Listener) *Line {
	return &Line{of: c, root: root, listener: l}
}

// ID is that of the session: the owner of the ephemeral nodes.
func (l *Line) ID() registry.SessionID { return l.of.session.ID() }

// Trust tells how far the session can be trusted at this moment. It looks at
// the clock, so a process that was frozen learns it before it does anything.
func (l *Line) Trust() Trust { return l.of.judge.ask() }

// Left is for how long Trust is not Expired, whatever happens; less than 0: it is.
// Not bounded: the registry ends no session.
func (l *Line) Left() (left time.Duration, bounded bool) { return l.of.judge.left() }

// Skew is by how many ms this server's clock is ahead of the registry's.
func (l *Line) Skew() int64 { return l.of.clock.skew() }

// begin lets a request begin, unless the line is closed.
func (l *Line) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return registry.ErrEnded
	}
	l.work.Add(1)
	return nil
}

// Commit is the session's.
func (l *Line) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	if err := l.begin(); err != nil {
		return registry.Receipt{}, err
	}
	defer l.work.Done()
	return l.commit(ctx, ops)
}

func (l *Line) commit(ctx context.Context, ops []registry.Op) (registry.Receipt, error) {
	l.makes(ops)
	sent := l.of.clock.moment()
	receipt, err := l.of.session.Commit(ctx, ops...)
	l.of.clock.tell(sent, receipt.At)
	l.committed(ops, receipt, err)
	return receipt, err
}

// makes notes the ephemeral nodes that a commit is about to make.
func (l *Line) makes(ops []registry.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits++
	for i := range ops {
		if ops[i].Kind == registry.CreateEphemeral {
			if l.made == nil {
				l.made = map[string]int{}
			}
			l.made[ops[i].Path] = l.commits
		}
	}
}

// committed forgets those that a commit has deleted, and notes those to which the
// service gave their names.
func (l *Line) committed(ops []registry.Op, receipt registry.Receipt, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, registry.ErrUnknown) {
		l.unsettled = true
	}
	if err != nil {
		return // what it did not make, Close will not find
	}
	for i := range ops {
		switch ops[i].Kind { //nolint:exhaustive // the others leave nothing, or were noted before
		case registry.Delete:
			delete(l.made, ops[i].Path)
		case registry.CreateEphemeralSequential:
			if l.made == nil {
				l.made = map[string]int{}
			}
			l.made[receipt.Results[i].Path] = l.commits
		}
	}
}

// Read is the session's.
func (l *Line) Read(ctx context.Context, path string) (registry.Node, error) {
	if err := l.begin(); err != nil {
		return registry.Node{}, err
	}
	defer l.work.Done()
	return l.of.session.Read(ctx, path)
}

// Sync is the session's.
func (l *Line) Sync(ctx context.Context) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.work.Done()
	return l.of.session.Sync(ctx)
}

// Timeout is that of the session; 0 on the registry inside a server.
func (l *Line) Timeout() time.Duration { return l.of.session.Timeout() }

// Persist is the session's.
func (l *Line) Persist(ctx context.Context) error {
	if err := l.begin(); err != nil {
		return err
	}
	defer l.work.Done()
	return l.of.session.Persist(ctx)
}

// Time is the session's.
func (l *Line) Time(ctx context.Context) (time.Time, error) {
	if err := l.begin(); err != nil {
		return time.Time{}, err
	}
	defer l.work.Done()
	return l.of.session.Time(ctx)
}

// Submit commits ops when its turn has come among the requests of all jobs,
// and gives the answer to reply, which must not block. It returns at once.
func (l *Line) Submit(ctx context.Context, ops []registry.Op, reply func(registry.Receipt, error)) {
	if err := l.begin(); err != nil {
		reply(registry.Receipt{}, err)
		return
	}
	l.of.trunk.pool.write(func() {
		defer l.work.Done()
		reply(l.commit(ctx, ops))
	})
}

// Fetch reads a node when its turn has come, as Submit commits.
func (l *Line) Fetch(ctx context.Context, path string, reply func(registry.Node, error)) {
	if err := l.begin(); err != nil {
		reply(registry.Node{}, err)
		return
	}
	l.of.trunk.pool.read(func() {
		defer l.work.Done()
		reply(l.of.session.Read(ctx, path))
	})
}

// Close ends the line. No request begins any more, and it waits for those under
// way: end their contexts first. If the session lives, those that had no answer
// are settled then, and the ephemeral nodes that the line made go, all at once
// if one transaction takes them: others see what they would see if a session of
// the job's own had ended. After an error Close can be called again; until it
// has returned nil the job must not begin again.
func (l *Line) Close(ctx context.Context) error {
	l.shut()
	l.work.Wait()
	for l.soiled() && l.of.life.Err() == nil {
		err := l.clear(ctx)
		if errors.Is(err, registry.ErrEnded) {
			break // the service does it
		}
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			return fmt.Errorf("remove what the job has left in its session: %w", err)
		}
	}
	l.of.remove(l)
	l.of.doubtNamespace() // whoever removed the job may have removed more
	return nil
}

// Abandon goes on with Close, after it failed, for a job that ends here. Until
// that has succeeded, or the session ends, Open waits.
func (l *Line) Abandon() { l.of.abandon(l) }

func (l *Line) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// soiled tells whether something of the line may be left in the session.
func (l *Line) soiled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unsettled || len(l.made) > 0
}

// clear settles what had no answer, and deletes the ephemeral nodes, the newest
// first: what was made when others were there goes before those.
func (l *Line) clear(ctx context.Context) error {
	s := l.of.session
	if err := s.Sync(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	l.unsettled = false
	made := maps.Clone(l.made)
	l.mu.Unlock()
	var ops []registry.Op
	for _, path := range slices.SortedFunc(maps.Keys(made), func(a, b string) int {
		return cmp.Or(cmp.Compare(made[b], made[a]), cmp.Compare(a, b))
	}) {
		n, err := s.Read(ctx, path)
		if err != nil {
			return err
		}
		if n.Exists && n.Stat.Owner == s.ID() {
			ops = append(ops, registry.Op{Kind: registry.Delete, Path: path, Version: n.Stat.Version})
			continue
		}
		l.gone(path)
	}
	for size := len(ops); len(ops) > 0; {
		size = min(size, len(ops))
		_, err := s.Commit(ctx, ops[:size]...)
		switch {
		case errors.Is(err, registry.ErrTooLarge) && size > 1:
			size /= 2
			continue
		case err != nil:
			return err
		}
		for _, op := range ops[:size] {
			l.gone(op.Path)
		}
		ops = ops[size:]
	}
	return nil
}

func (l *Line) gone(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, path)
}
