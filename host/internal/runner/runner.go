// Package runner runs one job on one server: a loop that feeds the protocol
// core with what happens and carries out what it decides. It decides nothing
// itself and knows no path, no cron and no engine; what it needs of those it
// asks through the ports below.
//
// Flow: Start opens a job session and begins a member → a message in its inbox
// starts a turn, which handles it and all that follow → mirror and protocol.Step → a
// commit and effects → their results come back as messages. When the session ends,
// so does the member with all its guests, and another life begins. Start reading at
// member.turn.
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
	// ErrUnsafe: the runner gave up waiting before everything was stored; the rest is
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
	// or 0 if that is not known. tick does not block. The error is ErrOver if there
	// are no more.
	Set(cron string, from time.Time, tick func(at, prev int64)) error
	// Use takes dialect and time zone from c from now on.
	Use(c job.Config)
	// Remove ends what Set began.
	Remove()
	// Between tells the first, the last and the number of the schedule's
	// instants strictly between after and until. The error says that the schedule
	// cannot be read.
	Between(cron string, after, until int64) (first, last, count int64, err error)
	// Newest tells the newest of those instants, ascending, most of them at most.
	Newest(cron string, after, until int64, most int) ([]int64, error)
}

// ErrOver is the error of Clock.Set for a schedule that had instants, and has no
// more.
var ErrOver = errors.New("its last instant has passed")

// Guests run the job's code.
type Guests interface {
	// Run executes one attempt. When ctx ends it returns at once, with the
	// verdict Stopped.
	Run(ctx context.Context, c job.Call) job.Outcome
}

// Listener is what Guests are as well whose code may have listeners of fires.
// Those are called by Run, too, with the call's Event.
type Listener interface {
	// Listens tells which of them there are, as far as is known now.
	Listens() (started, completed bool)
}

// Dealer is the job's strategy.
type Assigner interface {
	// Deal returns the items of each instance, by index. An error beside them
	// says why they are not those that the job's strategy wants; without them,
	// nothing is dealt out now. c is the job as it is in force. It heeds ctx.
	Assign(ctx context.Context, c job.Config, r protocol.AssignRequest) ([][]int, error)
}

// Slots bound how many do something at once. A nil Slots is no bound.
type Slots chan struct{}

// NewSlots makes n slots; none for 0.
func NewSlots(n int) Slots {
	if n <= 0 {
		return nil
	}
	return make(Slots, n)
}

// take waits for a slot. It returns none if there is no bound, or ctx ended first.
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

// slot is one of Slots, or none.
type slot struct{ of Slots }

// release gives the slot back, once.
func (s *slot) release() {
	if s.of != nil {
		<-s.of
		s.of = nil
	}
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
	Run       string // the id of the run, which its attempts share
	Attempt   int
	State     trace.State   // Running at the start
	Outcome   job.Outcome   // of an end
	Reason    reason.Reason // of an end: why it was stopped; of a strategy: what is wrong
}

// The kinds of Event.
const (
	Start         = "start"
	End           = "end"
	StrategyFault = "strategy"
)

// Options say what a Runner works with. All but Workers, Commands, Looks, Observe and
// Log are needed.
type Options struct {
	Sessions *session.Server // of the server
	Layout   layout.Layout
	// Config is the server's own, which nobody changes any more; what the registry
	// says goes over it. Redefine puts another one in its place.
	Config *job.Config
	// Define spells what the server's own file says of the job, for the registry.
	// Nil: the server has the job from there.
	Define func(job.Config) definition.Definition
	// Defined is told what to remember for the next Define when the registry has
	// it. It must not block. It may be nil.
	Defined func(said []byte)
	// Changed is told the job as it is in force whenever that is otherwise, and
	// nil when the registry has it no longer. It must not block. It may be nil.
	Changed  func(*job.Config)
	Instance job.InstanceID // a variant of it is used if it occurs in the job
	Clock    Clock
	Guests   Guests
	Assigner Assigner
	Sink     trace.Sink
	// Workers bound how many guests of a server compute at once, and Commands how
	// many commands of the operating system run. Nil is no bound.
	Workers, Commands *workers.Pool
	// Looks bound how many jobs of a server read all of their nodes at once, which
	// is when they need the most memory. Nil is no bound.
	Looks Slots
	// Labels are those of this server, for the strategies of all.
	Labels map[string]string
	// Address is where this server gives modules to others; empty: nowhere.
	Address string
	// DrainTimeout is how long guests may go on after the runner was asked to stop.
	DrainTimeout time.Duration
	// Knows tells whether items can be dealt out here by a strategy of that name;
	// nil: by any.
	Knows func(strategy string) bool
	// Observe is called in the goroutines of the guests, several at once. Neither
	// it nor the log may block: they would hold up the loop and the end of guests.
	// Nil: nobody wants to know.
	Observe func(Event)
	Log     *slog.Logger
}

const (
	// maxAsks bounds the requests that wait.
	maxAsks = 64
	// reshardWait is how long a due run waits for the leader, in ms.
	reshardWait = 10_000
	// linger is how long the end of a run waits for others, in ms.
	linger = 2
	// pruneAfter is how long a server may be without instance, in ms.
	pruneAfter = 24 * 3_600_000
	// maxUnstored is how many rows may wait for the history before nothing
	// begins: they are kept in a node of the registry, which holds 1 MiB.
	maxUnstored = 1_000
)

// Runner runs one job. Make it with New.
type Runner struct {
	Options
	serverLog *slog.Logger // of the server
	results   resultTexts
	sink      sink
	parallel  Slots // of this job: for the guests that have begun; the loop's; nil until one does
	shares    poolShares
	file      *job.Config // the server's own, as the job goes by it; the loop's
	defining  defining    // the loop's
	admitted  admitted    // the loop's
	troubles  troubles
	stuck     stuck
	lostRows  atomic.Int64 // those that the history refused for good
	joined    signal
	leaving   atomic.Bool // the job is about to leave this server
	snapshot  atomic.Pointer[snapshot]
	requests  requests
}

// New makes a Runner; nothing starts before Start.
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

// Joined is closed when the job has joined the registry for the first time, which then
// has what the server's own file says, as far as it takes that; or when it turned out
// to be one that this server must not run as it is.
func (r *Runner) Joined() <-chan struct{} { return r.joined.given }

// signal is given once.
type signal struct {
	given chan struct{} // closed
	once  sync.Once
}

func newSignal() signal { return signal{given: make(chan struct{})} }

func (s *signal) give() { s.once.Do(func() { close(s.given) }) }
