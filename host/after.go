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

// preceding follows the jobs that one job runs after. It only reads, except for the mark that
// makes their members record how instants end.
type preceding struct {
	namespace string
	notify    func(runner.Precedence)

	mu    sync.Mutex // guards the fields below, and view, been and why of each predecessor
	jobs  []*predecessor
	last  runner.Precedence // as last notified
	shown bool              // last is set
}

// predecessor is one of the jobs followed.
type predecessor struct {
	of   *preceding
	name string
	// named returns the layout that a file of this server gives the job, or nil if no file has
	// it; then the nodes in the registry show the layout.
	named  func() layout.Layout
	layout layout.Layout // in which the job is read at present
	inbox  *session.Inbox
	view   *protocol.View
	been   bool          // a view had the job
	why    reason.Reason // why the job cannot be read
	ended  bool          // the session has ended
}

// precede follows the named jobs, which a job of this server runs after, until ctx ends. It
// calls notify after each change of what that job must know of them, never concurrently.
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

// layoutNamed returns the layout that a file of this server gives a job. It is nil if no file
// has the job, as for jobs found in the registry.
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

// run follows the job, with a new session after each that ends, until ctx ends.
func (j *predecessor) run(ctx context.Context, sessions *session.Server) {
	for ctx.Err() == nil {
		j.inbox.Take() // drop the events of the session before
		j.ended = false
		s, err := sessions.Open(ctx, j.layout.Root(), j)
		if err == nil {
			j.follow(ctx, s)
			err = s.Close(context.WithoutCancel(ctx)) // even after ctx, since it created no ephemeral nodes that Close must delete
		}
		if err != nil && ctx.Err() == nil {
			j.show(nil, err)
			session.Sleep(ctx, backoff.Last)
		}
	}
}

// follow shows each view of the job until ctx or the session ends. It chooses the layout again
// when the job's nodes are of another one.
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

// hinders returns why the job that runs after this one does not run; none if it does. mu is held.
func (j *predecessor) hinders() reason.Reason {
	switch {
	case !j.why.None() || j.view == nil:
		return j.why
	case !j.been && j.view.ConfigFault == "" && j.named() != nil: // this server has yet to create a job of its file
		return reason.Reason{}
	}
	return j.view.Hinders(j.name)
}

// choose returns the layout in which to read the job: that of this server's file or, if no file
// has the job, the one that its nodes show.
func (j *predecessor) choose(ctx context.Context, s *session.Job) (layout.Layout, error) {
	if l := j.named(); l != nil {
		return l, nil
	}
	return layout.Found(j.of.namespace, j.name, func(paths []string) ([]registry.Node, error) { return readEach(ctx, s, paths) })
}

// followIn shows each view of the job, read in the chosen layout. It returns when the layout
// must be chosen again.
func (j *predecessor) followIn(ctx context.Context, s *session.Job, pauses *backoff.Backoff) {
	w := follow.NewWatch(j.layout, j.layout.Endings())
	w.Events = j.events
	w.Read = func(paths []string) ([]registry.Node, error) { return readEach(ctx, s, paths) }
	var unmarked *protocol.View // the newest view, until mark succeeds
	for ctx.Err() == nil && !j.ended {
		v, again, err := w.Turn()
		if v != nil {
			unmarked, *pauses = v, backoff.Backoff{}
			j.show(v, nil)
		}
		if unmarked != nil && !again {
			if err = j.mark(ctx, s, unmarked); err == nil {
				unmarked = nil
			}
		}
		if v != nil && v.Config == nil && err == nil { // perhaps its configuration is where another layout has it
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
		case v == nil && w.Settled():
			j.show(nil, nil) // what failed before may have succeeded without a newer view
		}
		select {
		case <-j.inbox.News():
		case <-ctx.Done():
		}
	}
}

// events returns the session's new events, and whether older ones were lost. It notes the end of
// the session.
func (j *predecessor) events() (events []registry.Event, lost bool) {
	events, lost = j.inbox.Take()
	for _, e := range events {
		j.ended = j.ended || e.Kind == registry.Ended
	}
	return events, lost
}

// mark makes the job's members record how instants end, unless they do so already. A job that is
// not there yet, or has no assignment, gets its mark after a later view. The transaction fails if
// another server has written first; then an event brings a new view, too.
func (j *predecessor) mark(ctx context.Context, s *session.Job, v *protocol.View) error {
	if v.Fires.Followed || v.Config == nil || !v.Assignment.Exists {
		return nil
	}
	_, err := s.Commit(ctx, j.layout.Encode(protocol.Follow{}, v)...)
	if errors.Is(err, registry.ErrConflict) || errors.Is(err, registry.ErrEnded) { // the loop goes on from the next event
		return nil
	}
	return err
}

// readEach reads nodes one at a time.
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

// show takes a newer view of the job, or nil, and the error of reading or marking it, or nil. It
// notifies the job that runs after this one if that changes something.
func (j *predecessor) show(v *protocol.View, err error) {
	p := j.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if j.why = (reason.Reason{}); err != nil {
		j.why = reason.Of(reason.AfterUnread, strconv.Quote(j.name), err.Error())
	}
	if v != nil {
		j.view = v // an error keeps the view: instants that ended well stay so
		j.been = j.been || v.Config != nil
	}
	var now runner.Precedence
	var views []*protocol.View
	for _, j := range p.jobs {
		if j.view != nil {
			views = append(views, j.view)
		}
		if why := j.hinders(); !why.None() {
			now.Why = append(now.Why, why)
		}
	}
	if len(views) == len(p.jobs) { // without a view of each job, no instant is known to have ended well in all
		now.Instants = protocol.GoodIn(views)
	}
	if p.shown && reflect.DeepEqual(now, p.last) {
		return
	}
	p.last, p.shown = now, true
	p.notify(now)
}
