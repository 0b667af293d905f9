package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// scout watches the list of jobs in the registry and has those that are not in
// the server's own file looked at. It has no goroutine while nothing changes.
type scout struct {
	h     *Host
	ctx   context.Context //nolint:containedctx // that of the server's run
	root  string          // the parent of all jobs
	looks chan struct{}   // one for each prospect that is being looked at

	mu       sync.Mutex      // guards what follows
	told     map[string]bool // those that nobody runs
	line     *session.Job
	open     sync.Once
	opened   chan struct{} // closed when there is a line
	lost     bool          // the session of the line has ended
	errand   errand
	jobs     map[string]*prospect
	count    sync.Once
	listed   chan struct{} // closed when the jobs were listed for the first time
	patience pause
	closed   bool
}

// beside does something that the end of the host waits for, unless that is near.
func (s *scout) beside(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.h.at.Go(do)
	}
}

// errand is work that is done by one at a time, and once more if it was asked
// for meanwhile.
type errand struct{ busy, again bool }

// maxLooks bounds how many prospects are looked at at once.
const maxLooks = 256

func newScout(ctx context.Context, h *Host) *scout {
	root := "/"
	if above := layout.NewJob(h.o.Namespace, "").Namespace(); len(above) > 0 {
		root = above[len(above)-1]
	}
	return &scout{
		h: h, ctx: ctx, root: root, looks: make(chan struct{}, maxLooks), opened: make(chan struct{}),
		jobs: map[string]*prospect{}, listed: make(chan struct{}), told: map[string]bool{},
	}
}

// begin starts to look; end must follow when ctx has ended and all that was
// begun is over.
func (s *scout) begin() {
	s.h.at.Go(func() { // nothing is begun when nobody waits for it any more
		<-s.ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		s.patience.stop()
		for _, p := range s.jobs {
			p.patience.stop()
		}
	})
	s.stir()
}

// end closes the lines.
func (s *scout) end() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), lineTimeout)
	defer cancel()
	var faults []error
	for _, p := range s.jobs {
		if p.line != nil {
			faults = append(faults, p.line.Close(ctx))
		}
	}
	if s.line != nil {
		faults = append(faults, s.line.Close(ctx))
	}
	return errors.Join(faults...)
}

const lineTimeout = 10 * time.Second

// Event implements session.Listener.
func (s *scout) Event(e registry.Event) {
	switch e.Kind {
	case registry.Suspended:
		return
	case registry.Ended:
		s.mu.Lock()
		s.lost = true
		s.mu.Unlock()
	case registry.Changed, registry.Resumed:
	}
	s.stir()
}

// Doubted implements session.Listener.
func (s *scout) HealthChanged(session.Health) {}

// stir has the list looked at.
func (s *scout) stir() { s.run(&s.errand, s.list) }

// run does an errand in a goroutine of its own.
func (s *scout) run(e *errand, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if e.busy {
		e.again = true
		return
	}
	e.busy = true
	s.h.at.Go(func() {
		for do(); s.wanted(e); {
			do()
		}
	})
}

// wanted tells whether an errand is to be done once more. If not, it is over.
func (s *scout) wanted(e *errand) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := e.again && !s.closed
	e.busy, e.again = again, false
	return again
}

// list opens a line, if there is none, and reads the names of all jobs.
func (s *scout) list() {
	line, err := s.connect()
	if err != nil {
		s.later(err)
		return
	}
	if !s.h.o.Discover {
		if err := s.undefined(line); err != nil {
			s.later(err)
		}
		return
	}
	n, err := line.Read(s.ctx, s.root)
	if err != nil {
		s.later(err)
		return
	}
	s.mu.Lock()
	s.patience = pause{}
	var look []*prospect
	there := map[string]bool{}
	for _, name := range n.Children {
		if there[name] = true; s.jobs[name] == nil && !s.h.files[name] {
			s.jobs[name] = newProspect(s, name)
			look = append(look, s.jobs[name])
		}
	}
	for name, p := range s.jobs {
		if p.there && !there[name] {
			look = append(look, p)
		}
		p.there = there[name]
	}
	s.count.Do(func() { close(s.listed) })
	s.mu.Unlock()
	for _, p := range look {
		p.stir()
	}
}

func (s *scout) later(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.ctx.Err() != nil {
		return
	}
	s.h.o.Log.Warn("the jobs in the registry cannot be listed, trying again", "path", s.root, "error", err)
	s.patience.after(s.stir)
}

// connect gives the scout's line, in a new session if need be.
func (s *scout) connect() (*session.Job, error) {
	s.mu.Lock()
	line, lost := s.line, s.lost
	s.mu.Unlock()
	if line != nil && !lost {
		return line, nil
	}
	if line != nil {
		if err := line.Close(s.ctx); err != nil {
			return nil, fmt.Errorf("close a line of the registry: %w", err)
		}
	}
	line, err := s.h.sessions.Open(s.ctx, s.root, s)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line, s.lost = line, false
	s.open.Do(func() { close(s.opened) })
	return line, nil
}

// found are the jobs that are known.
func (s *scout) found() []*prospect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.jobs))
}

// reader is the line by which others read.
func (s *scout) reader(ctx context.Context) (*session.Job, error) {
	select {
	case <-s.opened:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line, nil
}

// pause is before the next look at what could not be read or may not run.
type pause struct {
	backoff.Backoff
	timer *time.Timer
}

const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

func (p *pause) after(do func()) {
	p.First, p.Last = firstPause, lastPause
	p.stop()
	p.timer = time.AfterFunc(p.Next(), do)
}

func (p *pause) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
