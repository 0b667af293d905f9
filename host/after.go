package host

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// preceding follows the jobs after which one job runs. It only reads, but for the mark that
// has their members count how instants end.
type preceding struct {
	namespace string
	notify    func(runner.Precedence)

	mu    sync.Mutex // guards what follows
	jobs  []*predecessor
	last  runner.Precedence // that was notified
	shown bool              // there was one
}

// predecessor is one of these jobs.
type predecessor struct {
	of   *preceding
	name string
	// named returns the layout that a file of this server names for the job; nil if none
	// does. Then the job's tree shows it.
	named  func() layout.Layout
	layout layout.Layout // in which it is read at present
	inbox  *session.Inbox
	view   *protocol.View // guarded by the mu of preceding, as is why
	why    reason.Reason  // why there is no view
	ended  bool           // the session
}

// precede follows jobs until ctx ends. It calls notify when something has changed, from one
// goroutine at a time.
func (h *Host) precede(ctx context.Context, names []string, notify func(runner.Precedence)) {
	p := &preceding{namespace: h.o.Namespace, notify: notify}
	for _, name := range names {
		p.jobs = append(p.jobs, &predecessor{of: p, name: name, named: func() layout.Layout { return h.layoutNamed(name) }, layout: layout.NewJob(h.o.Namespace, name), inbox: session.NewInbox()})
	}
	var all sync.WaitGroup
	for _, j := range p.jobs {
		all.Go(func() { j.run(ctx, h.sessions) })
	}
	all.Wait()
}

// layoutNamed is the layout that a file of this server names for a job; nil if none does, as
// for jobs that were found in the registry.
func (h *Host) layoutNamed(name string) layout.Layout {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.jobs[:h.owned()] {
		if j.config.Name == name {
			return layout.New(j.config.Layout, h.o.Namespace, name)
		}
	}
	return nil
}

// Event implements session.Listener.
func (j *predecessor) Event(e registry.Event) { j.inbox.Put(e) }

// HealthChanged implements session.Listener.
func (j *predecessor) HealthChanged(session.Health) {}

// run follows the job, in one session after the other, until ctx ends.
func (j *predecessor) run(ctx context.Context, sessions *session.Server) {
	for ctx.Err() == nil {
		j.inbox.Take()
		j.ended = false
		s, err := sessions.Open(ctx, j.layout.Root(), j)
		if err == nil {
			j.follow(ctx, s)
			err = s.Close(context.WithoutCancel(ctx)) // it has no nodes to remove
		}
		if err != nil && ctx.Err() == nil {
			j.show(nil, err)
			session.Sleep(ctx, backoff.Last)
		}
	}
}

// follow shows each view of the job until ctx or the session ends. It begins anew when the
// job's tree shows another layout.
func (j *predecessor) follow(ctx context.Context, s *session.Job) {
	pauses := new(backoff.Backoff)
	for ctx.Err() == nil && !j.ended {
		l, err := j.choose(ctx, s)
		if err != nil {
			j.show(nil, err)
			session.Sleep(ctx, pauses.Next())
			continue
		}
		j.layout = l
		j.followIn(ctx, s, pauses)
	}
}

// choose returns the layout in which the job is to be read.
func (j *predecessor) choose(ctx context.Context, s *session.Job) (layout.Layout, error) {
	if l := j.named(); l != nil {
		return l, nil
	}
	return layout.Found(j.of.namespace, j.name, func(paths []string) ([]registry.Node, error) { return readEach(ctx, s, paths) })
}

// followIn shows each view of the job, read in the layout that was chosen. It returns when
// the layout is to be chosen anew.
func (j *predecessor) followIn(ctx context.Context, s *session.Job, pauses *backoff.Backoff) {
	w := follow.NewWatch(j.layout, j.layout.Endings())
	w.Events = j.events
	w.Read = func(paths []string) ([]registry.Node, error) { return readEach(ctx, s, paths) }
	for ctx.Err() == nil && !j.ended {
		v, again, err := w.Turn()
		if v != nil {
			*pauses = backoff.Backoff{}
			j.show(v, nil)
			err = j.mark(ctx, s, v)
		}
		if v != nil && v.Config == nil && err == nil {
			if l, err := j.choose(ctx, s); err != nil || l != j.layout {
				return
			}
		}
		switch {
		case ctx.Err() != nil || j.ended || again && err == nil:
			continue
		case err != nil:
			j.show(v, err)
			session.Sleep(ctx, pauses.Next())
			continue
		}
		select {
		case <-j.inbox.News():
		case <-ctx.Done():
		}
	}
}

func (j *predecessor) events() (events []registry.Event, lost bool) {
	events, lost = j.inbox.Take()
	for _, e := range events {
		j.ended = j.ended || e.Kind == registry.Ended
	}
	return events, lost
}

// mark has the members count, unless they do. If somebody writes the same node, an event
// shows that.
func (j *predecessor) mark(ctx context.Context, s *session.Job, v *protocol.View) error {
	if v.Fires.Followed || v.Config == nil || !v.Assignment.Exists {
		return nil
	}
	_, err := s.Commit(ctx, j.layout.Encode(protocol.Follow{}, v)...)
	if errors.Is(err, registry.ErrConflict) || errors.Is(err, registry.ErrEnded) {
		return nil
	}
	return err
}

// readEach reads nodes one after the other.
func readEach(ctx context.Context, s *session.Job, paths []string) ([]registry.Node, error) {
	nodes := make([]registry.Node, len(paths))
	for i, path := range paths {
		var err error
		if nodes[i], err = s.Read(ctx, path); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// show takes a new view of the job, or why there is none, and notifies what follows.
func (j *predecessor) show(v *protocol.View, err error) {
	p := j.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.why = (reason.Reason{}); err != nil {
		j.why = reason.Of(reason.AfterUnread, strconv.Quote(j.name), err.Error())
	}
	if v != nil {
		j.view = v // after an error the last one stays: what has ended well is not taken back
	}
	var now runner.Precedence
	var views []*protocol.View
	for _, j := range p.jobs {
		if j.view != nil {
			views = append(views, j.view)
		}
		why := j.why
		if why.None() && j.view != nil {
			why = j.view.Hinders(j.name)
		}
		if !why.None() {
			now.Why = append(now.Why, why)
		}
	}
	if len(views) == len(p.jobs) {
		now.Instants = protocol.GoodIn(views)
	}
	if p.shown && reflect.DeepEqual(now, p.last) {
		return
	}
	p.last, p.shown = now, true
	p.notify(now)
}
