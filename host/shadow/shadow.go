package shadow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/admission"
	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/clock"
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/outputs"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The kinds of host.Event that Run reports.
const (
	// Would: a member here would begin the item. Reason is the item's owner now.
	Would = "would_run"
	// Began: an item that was reported as Would has begun elsewhere. Instance is its
	// owner.
	Began = "began"
)

// eventSize is the approximate size of an event of a shadow, which has no outcome.
const eventSize = 1 << 10

// Run follows the jobs of the options in their Registry until ctx ends. Whenever a job
// fires, Observe receives the items that a server with these options would begin as one
// more member, and later when each of them begins elsewhere. Run joins no job, runs
// nothing and writes nothing. It logs why a job would not run here. It ignores the
// options Runner, Sinks and Modules.
func Run(ctx context.Context, o host.Options) error {
	o = o.WithDefaults()
	if o.Registry == nil || o.Observe == nil {
		return &host.Error{Code: host.Invalid, Msg: "a shadow needs the options Registry and Observe"}
	}
	if err := namespaceThere(ctx, &o); err != nil {
		return err
	}
	for _, j := range o.Jobs {
		if !layout.Known(j.Layout) {
			return &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("job %s: layout: %q is not known", j.Name, j.Layout)}
		}
	}
	out, log, observe := outputs.Detach(o.Log, o.Observe, func(*host.Event) int { return eventSize })
	defer out.Flush()
	o.Log, o.Observe = log, observe
	tick := schedule.NewTicker(runtime.GOMAXPROCS(0))
	sessions := session.New(session.Options{Registry: o.Registry, Namespace: layout.NewJob(o.Namespace, "").Namespace(), Log: o.Log})
	servicesCtx, stop := context.WithCancel(context.WithoutCancel(ctx)) // session and ticker end after the jobs
	var services errgroup.Group
	services.Go(func() error { return sessions.Run(servicesCtx) })
	services.Go(func() error { return tick.Run(servicesCtx) })
	var jobs, assignments sync.WaitGroup
	for _, j := range o.Jobs {
		s := &shadowJob{
			o: &o, file: j, layout: layout.New(j.Layout, o.Namespace, j.Name), sessions: sessions, inbox: session.NewInbox(), woken: make(chan struct{}, 1), logged: "not read yet",
			clock: clock.New(tick, j.Name), assigner: &assign.Assigner{Strategies: o.Strategies, Namespace: o.Namespace, Log: o.Log, Work: &assignments},
		}
		jobs.Go(func() { s.run(ctx) })
	}
	jobs.Wait()
	assignments.Wait()
	stop()
	return services.Wait() //nolint:wrapcheck // its functions return our errors
}

// namespaceThere refuses a namespace without jobs, since only a member would create one.
func namespaceThere(ctx context.Context, o *host.Options) error {
	op, err := operator.Open(ctx, o.Registry, o.Namespace)
	if err != nil {
		return err
	}
	names, err := op.Names(ctx)
	if err == nil && len(names) == 0 {
		if err = op.Namespace(ctx); err == nil {
			err = &host.Error{Code: host.NotFound, Msg: "there is no job in namespace " + o.Namespace}
		}
	}
	return errors.Join(err, op.Close())
}

// shadowJob is one job of a shadow. Only its loop uses the view; the session and the ticker
// leave events and instants for the loop.
type shadowJob struct {
	o        *host.Options
	file     job.Config
	layout   layout.Layout
	sessions *session.Server
	clock    *clock.Clock
	assigner *assign.Assigner
	inbox    *session.Inbox
	woken    chan struct{} // the loop has something to do

	mu    sync.Mutex // guards what follows
	ended bool       // the session
	due   []int64    // instants that have come and are not reported yet

	// Used by the loop only:

	pauses    backoff.Backoff // between attempts to read the job
	view      *protocol.View
	job       *job.Config  // as it would run here; nil: it would not
	logged    string       // why it would not run here, as logged last; "": it would
	timing    [5]string    // what the clock runs on
	wouldRun  []host.Event // the items reported for the newest instant
	sightings []sighting
	differs   bool // the assignment is not the one of a leader here, and a warning says so
}

// maxSightings is the limit of sightings that are kept for an instant to come.
const maxSightings = 10_000

// sighting is an item that was seen to begin elsewhere.
type sighting struct {
	item int
	at   time.Time
}

// Event implements session.Listener.
func (s *shadowJob) Event(e registry.Event) {
	s.inbox.Put(e)
	s.mu.Lock()
	s.ended = s.ended || e.Kind == registry.Ended
	s.mu.Unlock()
	s.wake()
}

// HealthChanged implements session.Listener.
func (s *shadowJob) HealthChanged(session.Health) {}

// wake wakes the loop.
func (s *shadowJob) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// run follows the job, in one session after the other, until ctx ends.
func (s *shadowJob) run(ctx context.Context) {
	defer s.clock.Remove()
	for ctx.Err() == nil {
		s.inbox.Take()
		s.mu.Lock()
		s.ended = false
		s.mu.Unlock()
		jobSession, err := s.sessions.Open(ctx, s.layout.Root(), s)
		if err == nil {
			s.follow(ctx, jobSession)
			err = jobSession.Close(context.WithoutCancel(ctx)) // it has no nodes to remove
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("the job cannot be followed, trying again", "job", s.file.Name, "error", err)
			session.Sleep(ctx, backoff.Last)
		}
	}
}

// follow keeps a view of the job until the session or ctx ends.
func (s *shadowJob) follow(ctx context.Context, jobSession *session.Job) {
	w := follow.NewWatch(s.layout, s.layout.Watched())
	w.Events, w.Read = s.takeEvents, func(paths []string) ([]registry.Node, error) { return read(ctx, jobSession, paths) }
	for ctx.Err() == nil && !s.sessionEnded() {
		view, again, err := w.Turn()
		if again {
			s.pauseAfter(ctx, err)
			continue
		}
		if view != nil {
			s.setView(view)
		}
		if w.Settled() {
			s.reportDue(ctx)
			s.matchSightings()
		}
		select {
		case <-s.woken:
		case <-ctx.Done():
		}
	}
}

// sessionEnded reports whether the session of the present follow has ended.
func (s *shadowJob) sessionEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// takeEvents takes the session's events and notes the items that have begun. It notes them from
// the events, since the mark of a short run may be gone when the node is read.
func (s *shadowJob) takeEvents() (events []registry.Event, lost bool) {
	events, lost = s.inbox.Take()
	for _, e := range events {
		if item, ok := s.layout.Began(e); ok && len(s.sightings) < maxSightings {
			s.sightings = append(s.sightings, sighting{item, time.Now()})
		}
	}
	return events, lost
}

// read reads the nodes at once and returns all of them, or the first error.
func read(ctx context.Context, jobSession *session.Job, paths []string) ([]registry.Node, error) {
	nodes, faults := make([]registry.Node, len(paths)), make([]error, len(paths))
	var reads sync.WaitGroup
	for i, path := range paths {
		reads.Add(1)
		jobSession.Fetch(ctx, path, func(n registry.Node, err error) {
			defer reads.Done()
			nodes[i], faults[i] = n, err
		})
	}
	reads.Wait()
	return nodes, cmp.Or(faults...) //nolint:wrapcheck // errors of our own session
}

// pauseAfter logs why a read has failed and waits before the next attempt. If err is nil, the
// read has succeeded, and the next failure waits only shortly.
func (s *shadowJob) pauseAfter(ctx context.Context, err error) {
	switch {
	case err == nil:
		s.pauses = backoff.Backoff{}
	case ctx.Err() == nil && !s.sessionEnded():
		s.o.Log.Warn("the job cannot be read, trying again", "job", s.file.Name, "error", err)
		session.Sleep(ctx, s.pauses.Next())
	}
}

// setView replaces the view, and logs when the job begins or ceases to be one that would
// run here.
func (s *shadowJob) setView(v *protocol.View) {
	s.view = v
	j, why := s.admit()
	if s.job = nil; why == "" {
		s.job = &j
		why = s.setClock(j)
	}
	if why != "" {
		s.clock.Remove()
		s.job, s.timing = nil, [5]string{}
	}
	if why == s.logged {
		return
	}
	if s.logged = why; why == "" {
		s.o.Log.Info("the job would run here", "job", s.file.Name)
	} else {
		s.o.Log.Warn("the job would not run here", "job", s.file.Name, "why", why)
	}
}

// admit returns the job as it would run here, or why it would not run here.
func (s *shadowJob) admit() (j job.Config, why string) {
	v := s.view
	switch {
	case v.ConfigFault != "":
		return j, v.ConfigFault
	case v.RecordFault != "":
		return j, v.RecordFault
	case v.Config == nil:
		return j, "it is not in the registry"
	case v.PausedAt(time.Now().UnixMilli()):
		return j, "it is paused"
	case v.ServerDisabled(s.o.Instance):
		return j, "this server is disabled for it"
	}
	config, module := s.layout.Defined(v)
	f, _ := layout.AdmissionFacts(s.layout, &s.file, config, module, v.Shared())
	switch j = f.Job; {
	case j.StrategyModule != "" && !f.Foreign:
		return j, "a module assigns its items, and a shadow runs no modules"
	case f.Foreign && !assign.Known(s.o.Strategies)(f.Definition.Strategy):
		return j, fmt.Sprintf("its members assign the items by the strategy %.200q, which is not known here", f.Definition.Strategy)
	}
	verdict := admission.Decide(&f)
	return j, reason.Words(verdict.Blockers, "; ")
}

// setClock sets the clock to the job's cron, or stops it for a job without one.
func (s *shadowJob) setClock(j job.Config) (fault string) {
	// timing has all that determines instants; the clock must not be set again without a change.
	timing := [5]string{j.Cron, j.Dialect, j.TimeZone, strings.Join(j.Except, ","), j.Jitter.String()}
	if timing == s.timing {
		return ""
	}
	s.clock.Remove()
	s.timing = timing
	if j.Cron == "" {
		return ""
	}
	s.clock.Use(j)
	if err := s.clock.Set(j.Cron, time.Now(), s.addDue); err != nil {
		return "cron: " + err.Error()
	}
	return ""
}

// maxDue is the limit of unreported instants while the job cannot be read. The oldest
// are dropped.
const maxDue = 1000

// addDue notes an instant that has come. The ticker calls it.
func (s *shadowJob) addDue(at, _ int64) {
	s.mu.Lock()
	s.due = append(s.due, at)
	s.due = s.due[max(0, len(s.due)-maxDue):]
	s.mu.Unlock()
	s.wake()
}
