package shadow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
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

// The kinds of host.Event that Run tells.
const (
	// Would: a member here would begin the item. Reason is who owns it.
	Would = "would_run"
	// Began: an item of which Would was told is seen to run. Instance is who owns
	// it.
	Began = "began"
)

// eventSize is about what an event of a shadow occupies; it has no outcome.
const eventSize = 1 << 10

// Run follows the jobs of the options in their Registry until ctx ends, and
// lets Observe hear, whenever one of them fires, which items a server with these
// options would begin if it were one more member, and when each of those is seen
// to run. It is a member of none, runs nothing and writes nothing; what keeps it
// from a job it says in the log. Runner, Sinks and Modules are not asked.
func Run(ctx context.Context, o host.Options) error {
	o = o.WithDefaults()
	if o.Registry == nil || o.Observe == nil {
		return &host.Error{Code: host.Invalid, Msg: "a shadow needs a registry that others run jobs on, and somebody to tell"}
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
	below, stop := context.WithCancel(context.WithoutCancel(ctx)) // both end after those who use them
	var under errgroup.Group
	under.Go(func() error { return sessions.Run(below) })
	under.Go(func() error { return tick.Run(below) })
	var jobs, deals sync.WaitGroup
	for _, j := range o.Jobs {
		s := &shade{
			o: &o, file: j, layout: layout.New(j.Layout, o.Namespace, j.Name), sessions: sessions, inbox: session.NewInbox(), woken: make(chan struct{}, 1), said: "nobody has looked yet",
			clock: clock.New(tick, j.Name), assigner: &assign.Assigner{Strategies: o.Strategies, Namespace: o.Namespace, Log: o.Log, Work: &deals},
		}
		jobs.Go(func() { s.run(ctx) })
	}
	jobs.Wait()
	deals.Wait()
	stop()
	return under.Wait() //nolint:wrapcheck // those that were given to it are ours
}

// namespaceThere refuses a namespace without jobs, which nobody but a member
// would make.
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

// shade is one job of a shadow. Its loop alone looks at the view; the session
// and the ticker put what they tell where the loop finds it.
type shade struct {
	o        *host.Options
	file     job.Config
	layout   layout.Layout
	sessions *session.Server
	clock    *clock.Clock
	assigner *assign.Assigner
	inbox    *session.Inbox
	woken    chan struct{} // there is something to do; one more would say no more

	mu    sync.Mutex // guards what follows
	ended bool       // the session
	due   []int64    // instants that have come

	// Of the loop:

	pauses backoff.Backoff // while it cannot be read
	view   *protocol.View
	job    *job.Config  // as it would run here; nil: it would not
	said   string       // why not, as was told last
	rhythm [3]string    // cron, dialect and zone that the clock goes by
	share  []host.Event // of the newest instant
	seen   []sight
	odd    bool // its members were said to deal the items out otherwise
}

// maxSeen bounds the sightings that wait for the instant that they belong to.
const maxSeen = 10_000

// sight is an item whose mark has appeared.
type sight struct {
	item int
	at   time.Time
}

// Event implements session.Listener.
func (s *shade) Event(e registry.Event) {
	s.inbox.Put(e)
	s.mu.Lock()
	s.ended = s.ended || e.Kind == registry.Ended
	s.mu.Unlock()
	s.wake()
}

// Doubted implements session.Listener.
func (s *shade) HealthChanged(session.Health) {}

func (s *shade) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// run follows the job, in one session after the other, until ctx ends.
func (s *shade) run(ctx context.Context) {
	defer s.clock.Remove()
	for ctx.Err() == nil {
		s.inbox.Take()
		s.mu.Lock()
		s.ended = false
		s.mu.Unlock()
		line, err := s.sessions.Open(ctx, s.layout.Root(), s)
		if err == nil {
			s.follow(ctx, line)
			err = line.Close(context.WithoutCancel(ctx)) // it has made nothing
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Warn("the job cannot be followed, trying again", "job", s.file.Name, "error", err)
			session.Sleep(ctx, backoff.Last)
		}
	}
}

// follow keeps a view of the job until the session or ctx ends.
func (s *shade) follow(ctx context.Context, line *session.Job) {
	w := follow.NewWatch(s.layout, s.layout.Watched())
	w.Events, w.Read = s.listen, func(paths []string) ([]registry.Node, error) { return read(ctx, line, paths) }
	for ctx.Err() == nil && !s.over() {
		view, again, err := w.Turn()
		if again {
			s.trouble(ctx, err)
			continue
		}
		if view != nil {
			s.see(view)
		}
		if w.Settled() {
			s.tick(ctx)
			s.match()
		}
		select {
		case <-s.woken:
		case <-ctx.Done():
		}
	}
}

func (s *shade) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// listen notes which items have begun.
func (s *shade) listen() (events []registry.Event, lost bool) {
	events, lost = s.inbox.Take()
	for _, e := range events {
		if item, ok := s.layout.Began(e); ok && len(s.seen) < maxSeen {
			s.seen = append(s.seen, sight{item, time.Now()})
		}
	}
	return events, lost
}

// read gives all nodes, or the first fault.
func read(ctx context.Context, line *session.Job, paths []string) ([]registry.Node, error) {
	nodes, faults := make([]registry.Node, len(paths)), make([]error, len(paths))
	var reads sync.WaitGroup
	for i, path := range paths {
		reads.Add(1)
		line.Fetch(ctx, path, func(n registry.Node, err error) {
			defer reads.Done()
			nodes[i], faults[i] = n, err
		})
	}
	reads.Wait()
	return nodes, cmp.Or(faults...) //nolint:wrapcheck // they are those of our session
}

// trouble waits a while where the job cannot be read.
func (s *shade) trouble(ctx context.Context, err error) {
	switch {
	case err == nil:
		s.pauses = backoff.Backoff{}
	case ctx.Err() == nil && !s.over():
		s.o.Log.Warn("the job cannot be read, trying again", "job", s.file.Name, "error", err)
		session.Sleep(ctx, s.pauses.Next())
	}
}

// see takes a newer view.
func (s *shade) see(v *protocol.View) {
	s.view = v
	j, why := s.fits()
	if s.job = nil; why == "" {
		s.job = &j
		why = s.schedule(j)
	}
	if why != "" {
		s.clock.Remove()
		s.job, s.rhythm = nil, [3]string{}
	}
	if why == s.said {
		return
	}
	if s.said = why; why == "" {
		s.o.Log.Info("the job would run here", "job", s.file.Name)
	} else {
		s.o.Log.Warn("the job would not run here", "job", s.file.Name, "why", why)
	}
}

// fits gives the job as it would run here, or says why it would not.
func (s *shade) fits() (j job.Config, why string) {
	v := s.view
	switch {
	case v.ConfigFault != "":
		return j, v.ConfigFault
	case v.RecordFault != "":
		return j, v.RecordFault
	case v.Config == nil:
		return j, "it is not in the registry"
	case v.Paused:
		return j, "it is paused"
	case v.ServerDisabled(s.o.Instance):
		return j, "this server is disabled for it"
	}
	config, module := s.layout.Defined(v)
	f, _ := layout.AdmissionFacts(s.layout, &s.file, config, module, v.Shared())
	switch j = f.Job; {
	case j.StrategyModule != "" && !f.Foreign:
		return j, "a module deals its items out, and nothing is run here"
	case f.Foreign && !assign.Known(s.o.Strategies)(f.Definition.Strategy):
		return j, fmt.Sprintf("its members deal the items out by the strategy %.200q, which is not known here", f.Definition.Strategy)
	}
	verdict := admission.Decide(&f)
	return j, reason.Words(verdict.Blockers, "; ")
}

// schedule lets the clock go by the job.
func (s *shade) schedule(j job.Config) (fault string) {
	rhythm := [3]string{j.Cron, j.Dialect, j.TimeZone}
	if rhythm == s.rhythm {
		return ""
	}
	s.clock.Remove()
	s.rhythm = rhythm
	if j.Cron == "" {
		return ""
	}
	s.clock.Use(j)
	if err := s.clock.Set(j.Cron, time.Now(), s.come); err != nil {
		return "cron: " + err.Error()
	}
	return ""
}

// maxDue bounds the instants that wait while the job cannot be seen; the newest
// are kept.
const maxDue = 1000

func (s *shade) come(at, _ int64) {
	s.mu.Lock()
	s.due = append(s.due, at)
	s.due = s.due[max(0, len(s.due)-maxDue):]
	s.mu.Unlock()
	s.wake()
}
