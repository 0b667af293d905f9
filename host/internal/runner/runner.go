// Package runner runs one job on one server. Its loop feeds events to the protocol core
// and carries out the core's decisions. It decides nothing itself and knows no path, no
// cron and no engine: those are behind the ports below.
//
// Flow: Start opens a job session and begins a member → a message in its inbox starts a
// turn, which handles it and all that follow → mirror and protocol.Step → a commit and
// effects → their results come back as messages. When the session ends, the member and
// all its guests end, and another member begins. Start reading at member.turn.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/internal/workers"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
)

var (
	// ErrStopped means that the job no longer runs here.
	ErrStopped = errors.New("the job does not run on this server")
	// ErrSession means that the registry session ended during a request, which may or may
	// not have been carried out.
	ErrSession = errors.New("the registry session ended; whether the request was carried out is unknown")
	// ErrBusy means that too many requests wait already.
	ErrBusy = errors.New("too many requests wait for this job")
	// ErrUnsafe means that the runner ended before everything was stored. The rest is in
	// the registry, and the next start stores it.
	ErrUnsafe = errors.New("not all ends of runs could be stored; the next start stores the rest")
)

// Refusal is the error of a request that the core has refused.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

// Clock wakes one job.
type Clock interface {
	// Set calls tick at every instant of the schedule after from. It replaces the
	// schedule set before. prev is the instant right before at, or 0 if that is unknown.
	// tick must not block. The error is ErrOver if the schedule has no further instant.
	Set(cron string, from time.Time, tick func(at, prev int64)) error
	// Use sets dialect and time zone to those of c.
	Use(c job.Config)
	// Remove ends the calls of tick.
	Remove()
	// Between returns the first, the last and the number of the schedule's instants
	// strictly between after and until. An error means that the schedule cannot be read.
	Between(cron string, after, until int64) (first, last, count int64, err error)
	// After returns the first instant of the schedule after at, or 0 if there is none.
	After(cron string, at int64) int64
	// Newest returns the newest instants strictly between after and until, ascending, at
	// most as many as most.
	Newest(cron string, after, until int64, most int) ([]int64, error)
}

// ErrOver is the error of Clock.Set for a schedule whose last instant has passed.
var ErrOver = errors.New("its last instant has passed")

// Guests run the job's code.
type Guests interface {
	// Run executes one attempt. When ctx ends it returns at once, with the verdict
	// Stopped.
	Run(ctx context.Context, c job.Call) job.Outcome
}

// Listener is implemented by Guests whose code may have listeners of fires. Such
// listeners are also called through Run; the call's Event tells them apart.
type Listener interface {
	// Listens returns which listeners the code has, as far as is known now.
	Listens() (started, completed bool)
}

// Assigner calls the job's strategy.
type Assigner interface {
	// Assign returns the items of each instance, by index. An error with items says why
	// the strategy did not choose them. An error without items keeps the current
	// assignment. c is the job's configuration in force. Assign returns when ctx ends.
	Assign(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error)
}

// Slots bounds concurrency. Nil Slots have no bound.
type Slots chan struct{}

// NewSlots returns n slots, or nil for 0.
func NewSlots(n int) Slots {
	if n <= 0 {
		return nil
	}
	return make(Slots, n)
}

// take waits for a slot. The slot is empty if there is no bound or ctx ended first.
func (s Slots) take(ctx context.Context) slot {
	if s == nil {
		return slot{}
	}
	select {
	case s <- struct{}{}:
		return slot{s}
	case <-ctx.Done():
		return slot{}
	}
}

// slot is one of Slots, or empty.
type slot struct{ of Slots }

// release gives the slot back, once.
func (s *slot) release() {
	if s.of != nil {
		<-s.of
		s.of = nil
	}
}

// Event is the start or the end of a guest, a new row, or something that concerns no
// item: the failure of a strategy, or a reshard.
type Event struct {
	Kind      string
	At        time.Time
	Config    job.Config
	Item      int
	TaskID    string
	Parameter string
	Scheduled time.Time // of a trigger: the time of its acceptance
	Instance  job.InstanceID
	Cause     trace.Cause
	Run       string // the id of the run, which its attempts share
	Attempt   int
	State     trace.State   // Running at the start
	Outcome   job.Outcome   // of an end
	Reason    reason.Reason // of an end: why it was stopped; of a strategy: why it failed
	Row       *trace.Row    // of NewRow, which sets no other field
}

// The kinds of Event.
const (
	Start         = "start"
	End           = "end"
	StrategyFault = "strategy"
	// NewRow is a row that is not in the history yet. If a row still waits when the
	// session ends, it is reported again in the next session.
	NewRow    = "row"
	Resharded = "reshard" // this server has assigned the items as leader
)

// Origin says where the job comes from. The zero value is the registry.
type Origin struct {
	// Define returns the definition of the job by the server's own file.
	Define func(job.Config) definition.Definition
	// Defined receives the value to keep for the next Define, once the registry has the
	// definition. It must not block. It may be nil.
	Defined func(said []byte)
}

// Announced is what a server publishes to the others.
type Announced struct {
	// Labels are the labels of this server, which the strategies of all servers see.
	Labels map[string]string
	// Address is where other servers can fetch modules from this one; empty if nowhere.
	Address string
}

// Options configure a Runner. Workers, Commands, Looks, Observe and Log are optional.
type Options struct {
	Sessions *session.Server // of the server, not bound to a job
	Layout   layout.Layout
	// Config is the server's own configuration, which must not change any more. The
	// definition in the registry overrides it. Redefine replaces it.
	Config *job.Config
	Origin
	// Changed receives the configuration in force whenever it changes, and nil when the
	// job is no longer in the registry. It must not block. It may be nil.
	Changed  func(*job.Config)
	Instance job.InstanceID // varied if the job already has such an instance
	Clock    Clock
	// Precede follows the named jobs, after which this one runs, until ctx ends. It calls
	// notify with each change. It may be nil.
	Precede  func(ctx context.Context, names []string, notify func(Precedence))
	Guests   Guests
	Assigner Assigner
	Sink     trace.Sink
	// Workers bounds how many guests of a server compute at once, and Commands how many
	// commands of the operating system run at once. Nil is no bound.
	Workers, Commands *workers.Pool
	// Looks bounds how many jobs of a server read all of their nodes at once, since that
	// is when they need the most memory. Nil is no bound.
	Looks Slots
	Announced
	// DrainTimeout is how long guests may go on after the runner was asked to stop.
	DrainTimeout time.Duration
	// Knows reports whether this server has the strategy with that name. Nil means that
	// it has every strategy.
	Knows func(strategy string) bool
	// Logs receives the runs' log lines for readers that follow them. It may be nil.
	Logs *runlog.Logs
	// Observe is called in the goroutines of the guests, possibly several at once.
	// Neither it nor the log may block: they would hold up the loop and the ends of
	// guests. It may be nil.
	Observe func(*Event)
	Log     *slog.Logger
}

const (
	// maxAsks bounds the requests that wait.
	maxAsks = 64
	// reshardWait is how long a due run waits for the leader, in ms.
	reshardWait = 10_000
	// linger is how long the end of a run waits for others to share its commit, in ms.
	linger = 2
	// pruneAfter is how long a server may have no instance before its nodes are deleted,
	// in ms.
	pruneAfter = 24 * 3_600_000
	// maxUnstored is how many rows may wait for the history before no further run begins:
	// they are in a node of the registry, whose limit is 1 MiB.
	maxUnstored = 1_000
)

// Runner runs one job. Make it with New.
type Runner struct {
	Options
	serverLog *slog.Logger // of the server
	results   resultTexts
	sink      sink
	places    Slots // of the job's guests that have begun; nil until one does; used only by the loop
	shares    poolShares
	file      *job.Config // the server's own configuration that is in use; used only by the loop
	defining  defining    // used only by the loop
	admitted  admitted    // used only by the loop
	troubles  troubles
	stuck     stuck
	lostRows  atomic.Int64 // rows that the history has refused for good
	unstored  atomic.Int64 // rows that wait for the history
	joined    signal
	leaving   atomic.Bool // the job is about to leave this server
	snapshot  atomic.Pointer[snapshot]
	requests  requests
}

// New returns a Runner. Nothing starts before Start.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(*job.Config) {}
	}
	base := o.Log
	o.Log = slog.New(ofJob{base.Handler(), o.Config.Name})
	r := &Runner{Options: o, serverLog: base, sink: make(sink, 1), joined: newSignal()}
	r.file = o.Config
	r.requests.file = o.Config
	return r
}

// Joined returns a channel that is closed when the job has joined for the first time and
// the definition of the server's own file is merged into the registry. It is also closed
// if this server must not run the job.
func (r *Runner) Joined() <-chan struct{} { return r.joined.given }

// signal is a channel that is closed once.
type signal struct {
	given chan struct{}
	once  sync.Once
}

func newSignal() signal { return signal{given: make(chan struct{})} }

// give closes the channel.
func (s *signal) give() { s.once.Do(func() { close(s.given) }) }
