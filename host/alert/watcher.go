package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	// patience limits the time of a request to the registry.
	patience = 10 * time.Second
	// lastPatience limits the time to write the last facts after ctx has ended.
	lastPatience = 2 * time.Second
	// defaultGather is how long a new alert waits for similar facts.
	defaultGather = 5 * time.Second
	// lookEvery is the time between two searches for due alerts.
	lookEvery = time.Second
	// changeTries is the limit of tries to write alerts while other servers write them, too.
	changeTries = 20
)

// Options of a Watcher.
type Options struct {
	Notifiers []Notifier // that this server can reach
	Jobs      []job.Config
	Log       *slog.Logger // must not block; nil discards
	// Gather is how long a new alert waits for similar facts; 0: five seconds.
	Gather time.Duration
}

// Cluster is where a Watcher runs.
type Cluster struct {
	Registry  registry.Registry
	Namespace string
	Server    string // its id
	// Report reports on a job, as operator.Operator.Job does.
	Report func(ctx context.Context, name string) (*operator.JobReport, error)
}

// Watcher raises alerts from the events of a host, and delivers those of the cluster if no
// other server does. Create it with New, and set the host's option Count to its Count.
type Watcher struct {
	notifiers map[string]*Notifier
	gather    time.Duration
	log       *slog.Logger
	now       func() time.Time
	news      chan struct{} // holds one value if there is something to do
	warned    string        // the last warning of Run
	// The values of Gauges.
	active, unsent atomic.Int64

	mu       sync.Mutex            // guards the fields below
	own      map[string]watched    // the jobs of the server's own file
	jobs     map[string]watched    // as the registry had them when a run began here
	open     map[attempt]time.Time // when an open run reaches its maximum duration
	facts    []*fact               // that wait to be written
	items    int                   // of all facts
	lastOf   map[string]*fact      // the newest of each job
	lost     int                   // facts for which there was no room
	alerting map[string]bool       // jobs with an alert, as last read
	lateAt   map[string]time.Time  // the instant by which a job is late

	// Only Run uses the fields below.
	seen    map[string]time.Time // when this server first saw each job that is expected to end in time
	in      Cluster
	tree    clustertree.Tree
	session registry.Session
	value   clustertree.Alerts // as last read or written
	leads   bool               // this server is the deliverer
	dirty   bool               // alerts or deliverer may have changed
}

// New returns a Watcher that does nothing before Run.
func New(o Options) *Watcher {
	w := &Watcher{
		notifiers: map[string]*Notifier{}, gather: o.Gather, log: o.Log, now: time.Now, news: make(chan struct{}, 1),
		jobs: map[string]watched{}, open: map[attempt]time.Time{}, lastOf: map[string]*fact{}, alerting: map[string]bool{}, lateAt: map[string]time.Time{}, seen: map[string]time.Time{},
	}
	if w.gather == 0 {
		w.gather = defaultGather
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	for i := range o.Notifiers {
		w.notifiers[o.Notifiers[i].Name] = &o.Notifiers[i]
	}
	w.Use(o.Jobs)
	return w
}

// Run writes facts, checks for late jobs and delivers until ctx ends, and then writes the
// facts that still wait. Without notifiers, it opens no session before there is something to
// watch or write.
func (w *Watcher) Run(ctx context.Context, in Cluster) {
	w.in, w.tree = in, clustertree.Of(in.Namespace)
	defer w.finish(ctx)
	session.Again(ctx, func() error {
		if len(w.notifiers) == 0 && !w.await(ctx) {
			return nil // ctx has ended
		}
		return w.follow(ctx)
	}, func(err error) { w.warn("alerts wait until the registry is back", err) })
}

// await waits until there are facts, or open runs with a maximum duration, and returns true; or
// until ctx ends, and returns false.
func (w *Watcher) await(ctx context.Context) bool {
	for {
		w.mu.Lock()
		some := len(w.facts) > 0 || len(w.open) > 0
		w.mu.Unlock()
		if some {
			return true
		}
		select {
		case <-w.news:
		case <-ctx.Done():
			return false
		}
	}
}

// finish writes the facts that still wait.
func (w *Watcher) finish(ctx context.Context) {
	w.mu.Lock()
	waiting := len(w.facts)
	w.mu.Unlock()
	if waiting == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPatience)
	defer cancel()
	s, err := w.in.Registry.Open(ctx, func(registry.Event) {})
	if err != nil {
		w.log.Warn("alerts were lost at the end, since the registry cannot be reached", "facts", waiting, "error", err)
		return
	}
	defer func() { _ = s.Close() }() // nothing is lost with it
	w.session = s
	if err := session.CreateMissing(ctx, s, w.tree.Parents()); err != nil {
		w.warn("alerts are lost at the end", err)
		return
	}
	w.write(ctx)
}

// follow is Run with one session. It returns nil when ctx has ended, and an error when the
// session has ended or could not be set up.
func (w *Watcher) follow(ctx context.Context) error {
	inbox := session.NewInbox()
	opening, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := w.in.Registry.Open(opening, inbox.Put)
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	defer func() { _ = s.Close() }() // nothing is lost with it
	defer func() { w.leads = false; w.report() }()
	for _, path := range []string{w.tree.Alerts(), w.tree.Deliverer()} {
		if err := s.Follow(opening, path); err != nil {
			return fmt.Errorf("follow %s: %w", path, err)
		}
	}
	if err := session.CreateMissing(opening, s, w.tree.Parents()); err != nil {
		return fmt.Errorf("make %s: %w", w.tree.Root(), err)
	}
	w.session, w.leads, w.dirty = s, false, true
	due := map[string]time.Time{}
	for {
		events, _ := inbox.Take()
		for _, e := range events {
			if e.Kind == registry.Ended {
				return errors.New("the session has ended")
			}
			w.dirty = true
		}
		w.turn(ctx, due)
		look := time.NewTimer(w.nextEnd(lookEvery))
		select {
		case <-inbox.News():
		case <-w.news:
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return nil
		}
		look.Stop()
	}
}

// turn reads the alerts if they may have changed, then writes facts and delivers what is due. Only
// the deliverer looks for late jobs, and delivers. due is that of late.
func (w *Watcher) turn(ctx context.Context, due map[string]time.Time) {
	if w.dirty {
		if err := w.read(ctx); err != nil {
			w.warn("the alerts cannot be read", err)
			return
		}
		w.dirty, w.warned = false, ""
	}
	if w.leads {
		w.late(ctx, due)
	}
	w.write(ctx)
	if w.leads {
		w.deliver(ctx)
	}
	w.report()
}

// report sets what Gauges returns.
func (w *Watcher) report() {
	var active, unsent int64
	for i := range w.value.All {
		if a := &w.value.All[i]; w.leads {
			active += one(a.Over == 0)
			unsent += one(a.Tries > 0 && len(a.Left) > 0)
		}
	}
	w.active.Store(active)
	w.unsent.Store(unsent)
}

// one returns 1 for true, to count.
func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// Gauges returns the number of alerts of the cluster that are not over, and of alerts whose last
// delivery has failed. A server that does not deliver returns 0, so that a sum over servers is right.
func (w *Watcher) Gauges() (active, unsent int64) { return w.active.Load(), w.unsent.Load() }

// read reads the alerts, and makes this server the deliverer if there is none and it has
// notifiers. The deliverer is the server whose session owns the deliverer's node.
func (w *Watcher) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := w.load(ctx); err != nil {
		return err
	}
	if len(w.notifiers) == 0 {
		return nil
	}
	_, err := w.session.Commit(ctx, registry.Op{Kind: registry.CreateEphemeral, Path: w.tree.Deliverer(), Data: []byte(w.in.Server)})
	// The read below shows which server is the deliverer after either of these.
	if err != nil && !errors.Is(err, registry.ErrConflict) && !errors.Is(err, registry.ErrUnknown) {
		return fmt.Errorf("become the deliverer: %w", err)
	}
	n, err := w.session.Read(ctx, w.tree.Deliverer())
	if err != nil {
		return fmt.Errorf("read the deliverer: %w", err)
	}
	w.leads = n.Exists && n.Stat.Owner == w.session.ID()
	return nil
}

// load reads the alerts into memory, and returns their node.
func (w *Watcher) load(ctx context.Context) (registry.Node, error) {
	n, err := w.session.Read(ctx, w.tree.Alerts())
	if err != nil {
		return n, fmt.Errorf("read the alerts: %w", err)
	}
	w.value, err = clustertree.DecodeAlerts(n.Data)
	if err != nil {
		return n, fmt.Errorf("the alerts at %s cannot be read, delete that node: %w", w.tree.Alerts(), err)
	}
	w.remember()
	return n, nil
}

// remember notes which jobs have alerts.
func (w *Watcher) remember() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alerting = map[string]bool{}
	for i := range w.value.All {
		w.alerting[w.value.All[i].Job] = true
	}
}

// isAlerting reports whether a job had an alert when the alerts were last read. mu is held.
func (w *Watcher) isAlerting(name string) bool { return w.alerting[clustertree.AlertJob(name)] }

// write writes the waiting facts. If that fails, they keep waiting.
func (w *Watcher) write(ctx context.Context) {
	facts := w.take()
	if len(facts) == 0 {
		return
	}
	var removed, lost int
	err := w.change(ctx, func(a *clustertree.Alerts) (changed bool) {
		changed, removed, lost = applyAll(a, facts, w.gather)
		return changed
	})
	if err != nil {
		w.putBack(facts)
		w.warn("alerts cannot be written", err)
		return
	}
	if removed > 0 {
		w.log.Warn("alerts that are over were removed to make room for new ones, so a notifier that cannot be reached does not receive their end", "alerts", removed)
	}
	if lost > 0 {
		w.warn("an alert was lost", fmt.Errorf("there are %d, which is the limit", clustertree.MaxAlerts))
	}
}

// change changes the alerts in the registry by do, which reports whether there is something to
// write. It reads them and calls do again if another server changes them meanwhile.
func (w *Watcher) change(ctx context.Context, do func(*clustertree.Alerts) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for try := 1; ; try++ {
		n, err := w.load(ctx)
		if err != nil {
			return err
		}
		if !do(&w.value) {
			return nil
		}
		op := registry.Op{Kind: registry.Create, Path: w.tree.Alerts(), Data: w.value.Encode()}
		if n.Exists {
			op.Kind, op.Version = registry.Set, n.Stat.Version
		}
		_, err = w.session.Commit(ctx, op)
		if err == nil {
			w.remember()
			return nil
		}
		w.dirty = true
		if try == changeTries || !errors.Is(err, registry.ErrConflict) {
			return fmt.Errorf("write the alerts: %w", err)
		}
	}
}

// warn logs a warning unless it is the same as the last one.
func (w *Watcher) warn(what string, err error) {
	if text := what + fmt.Sprint(err); text != w.warned {
		w.warned = text
		w.log.Warn("trouble with alerts", "what", what, "error", err)
	}
}
