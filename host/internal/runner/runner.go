// Package runner runs one job on one server: a loop that feeds the protocol
// core with what happens and carries out what it decides. It decides nothing
// itself and knows no path, no cron and no engine; what it needs of those it
// asks through the ports below.
//
// Flow: Run opens a session and begins a member → member.run takes letters from
// its mailbox → mirror and protocol.Step → a commit and effects, each in a
// goroutine of its own → their results come back as letters. When the session
// ends, so does the member with all its guests, and Run begins another.
// Start reading at member.run.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

var (
	// ErrStopped: the job does not run here any more.
	ErrStopped = errors.New("the job does not run on this server")
	// ErrSession: the registry session ended while a request was under way; it
	// may or may not have been carried out.
	ErrSession = errors.New("the registry session ended; whether the request was carried out is unknown")
	// ErrBusy: too many requests wait already.
	ErrBusy = errors.New("too many requests wait for this job")
	// ErrUnsafe: Run gave up waiting before everything was stored; the rest is
	// in the registry, for the next start.
	ErrUnsafe = errors.New("not all ends of runs could be stored; the next start does it")
)

// Refusal is the answer of the core to a request that it does not fulfil.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// Clock wakes one job.
type Clock interface {
	// Set calls tick at every instant of the schedule after from, in place of
	// what was set before. prev is the instant right before at in the schedule,
	// or 0 if that is not known. tick does not block.
	Set(cron string, from time.Time, tick func(at, prev int64)) error
	// Remove ends what Set began.
	Remove()
	// Between tells the first, the last and the number of the schedule's
	// instants strictly between after and until.
	Between(cron string, after, until int64) (first, last, count int64, err error)
}

// Guests run the job's code.
type Guests interface {
	// Run executes one attempt. When ctx ends it returns at once, with the
	// verdict Stopped.
	Run(ctx context.Context, c job.Call) job.Outcome
}

// Dealer is the job's strategy.
type Dealer interface {
	// Deal returns the items of each instance, by index. An error beside them
	// says why they are not those that the job's strategy wants; without them,
	// nothing is dealt out now. c is the job as it is in force. It heeds ctx.
	Deal(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error)
}

// Slots bound how many guests run at once. A nil Slots is no bound.
type Slots chan struct{}

// NewSlots makes n slots; none for 0.
func NewSlots(n int) Slots {
	if n <= 0 {
		return nil
	}
	return make(Slots, n)
}

// Event is the start or the end of one guest, or a strategy that failed: that
// one has no item.
type Event struct {
	Kind      string // "start", "end" or "strategy"
	At        time.Time
	Config    job.Config
	Item      int
	TaskID    string
	Parameter string
	Scheduled time.Time // of a trigger: when it was accepted
	Instance  job.InstanceID
	Cause     trace.Cause
	Attempt   int
	State     trace.State // Running at the start
	Outcome   job.Outcome // of an end
	Reason    string      // of an end: why it was stopped; of a strategy: what is wrong
}

// The kinds of Event.
const (
	Start         = "start"
	End           = "end"
	StrategyFault = "strategy"
)

// Options say what a Runner works with. All but Slots, Observe and Log are
// needed.
type Options struct {
	Registry registry.Registry
	Layout   layout.Job
	Config   job.Config     // the server's own; what the registry says goes over it
	Instance job.InstanceID // a variant of it is used if it occurs in the job
	Clock    Clock
	Guests   Guests
	Dealer   Dealer
	Sink     trace.Sink
	Slots    Slots // shared by the jobs of a server
	// Labels are those of this server, for the strategies of all.
	Labels map[string]string
	// DrainTimeout is how long guests may go on after Run was asked to stop.
	DrainTimeout time.Duration
	// Observe is called in the goroutines of the guests, several at once; while
	// it blocks, the guest does not begin or its end is not recorded.
	Observe func(Event)
	Log     *slog.Logger
}

const (
	// maxAsks bounds the requests that wait.
	maxAsks = 64
	// reshardWait is how long a due run waits for the leader, in ms.
	reshardWait = 10_000
	// pruneAfter is how long a server may be without instance, in ms.
	pruneAfter = 24 * 3_600_000
	// maxUnstored is how many rows may wait for the history before nothing
	// begins: they are kept in a node of the registry, which holds 1 MiB.
	maxUnstored = 1_000
)

// Runner runs one job. Make it with New.
type Runner struct {
	Options
	guestLog *slog.Logger // the sandbox adds job and item
	kept     keptTexts
	parallel Slots // of this job
	troubles troubles
	stuck    stuck
	lostRows atomic.Int64 // those that the history refused for good
	joined   chan struct{}
	joinOnce sync.Once
	going    atomic.Bool // the job is about to leave this server
	snapshot atomic.Pointer[snapshot]

	// mu guards what callers of Ask share with the loop.
	mu     sync.Mutex
	asks   map[int64]*pendingAsk
	asked  int64 // id of the newest
	box    *mailbox
	closed bool
}

// New makes a Runner; nothing starts before Run.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	guestLog := o.Log.With("source", "guest")
	o.Log = o.Log.With("job", o.Config.Name)
	return &Runner{Options: o, guestLog: guestLog, parallel: NewSlots(o.Config.Parallel), joined: make(chan struct{}), asks: map[int64]*pendingAsk{}}
}

// Joined is closed when the job has joined the registry for the first time.
func (r *Runner) Joined() <-chan struct{} { return r.joined }

// Run runs the job until ctx ends, and then lets its guests finish, stores
// their rows and leaves the job. It returns nil also when an operator shut the
// job down on this server. What it started has ended when it returns.
func (r *Runner) Run(ctx context.Context) error {
	defer r.close()
	open := false // something that an earlier session left is in the registry
	for pause := newPauses(); ; {
		l := r.live(ctx)
		err := l.err
		if l.joined {
			open = l.open
		}
		switch {
		case !l.again:
			return err
		case ctx.Err() != nil && open:
			return fmt.Errorf("%w: %w", ErrUnsafe, err)
		case ctx.Err() != nil:
			return nil // nothing was cut short
		}
		if l.joined {
			pause = newPauses()
		}
		wait := pause.next()
		r.Log.Warn("begin again in a new registry session", "pause", wait.String(), "cause", err)
		sleep(ctx, wait)
	}
}

// life is how the life of a member went.
type life struct {
	again  bool // there is to be another
	joined bool
	open   bool // its record was left with something in it
	err    error
}

// live is the life of one member, from the opening of its session to the end
// of its last guest.
func (r *Runner) live(ctx context.Context) life {
	box := newMailbox()
	asked := thisMoment() // from here on the service may count the session's time-out
	session, err := r.Registry.Open(ctx, box.event)
	if err == nil {
		if err = r.namespace(ctx, session); err != nil {
			err = errors.Join(err, session.Close())
		}
	}
	if err != nil {
		r.troubles.set(troubleRegistry, err.Error())
		return life{again: true, err: fmt.Errorf("open a registry session: %w", err)}
	}
	for _, old := range []trouble{troubleRegistry, troubleCommit, troubleDoubt} {
		r.troubles.clear(old) // they were the last session's
	}
	var l life
	m, err := newMember(r, box, session, asked)
	if err == nil {
		l.again, err = m.run(ctx)
		l.joined, l.open = m.self != "", m.open()
	}
	r.detach()
	if e := session.Close(); e != nil && !errors.Is(e, registry.ErrEnded) {
		err = errors.Join(err, fmt.Errorf("close the registry session: %w", e))
	}
	l.err = err
	return l
}

// namespace makes the nodes above the job, which jobs share.
func (r *Runner) namespace(ctx context.Context, s registry.Session) error {
	for _, path := range r.Layout.Namespace() {
		n, err := s.Read(ctx, path, false)
		if err != nil {
			return fmt.Errorf("read the namespace: %w", err)
		}
		if n.Exists {
			continue
		}
		_, err = s.Commit(ctx, registry.Op{Kind: registry.Create, Path: path})
		if err != nil && !errors.Is(err, registry.ErrConflict) {
			return fmt.Errorf("create the namespace: %w", err)
		}
	}
	return nil
}

// pauses grow from one failure to the next, each with some chance in it so
// that servers that failed together do not come back together.
type pauses struct{ d time.Duration }

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

func newPauses() *pauses { return &pauses{firstPause} }

func (p *pauses) next() time.Duration {
	d := p.d/2 + rand.N(p.d/2+1)
	p.d = min(2*p.d, lastPause)
	return d
}

// sleep waits, and tells whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
