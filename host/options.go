package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/assign"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/native"
	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

// Runner runs the code of all jobs of a Host.
type Runner interface {
	// Run executes one attempt of one item. It returns promptly when ctx ends,
	// and asks c.Why now and then whether it should stop before that. It is
	// called by many goroutines at once.
	Run(ctx context.Context, c job.Call) job.Outcome
}

// Listener is a Runner whose jobs have listeners of fires, as modules have that
// export wasmjob_started or wasmjob_completed: when every item has begun an
// instant, and when all those runs have ended, one server calls Run with the
// call's Event.
type Listener interface {
	// Listens tells which of them there are.
	Listens() (started, completed bool)
}

// Func is a Runner made of one function.
type Func func(ctx context.Context, c job.Call) job.Outcome

// Run calls f.
func (f Func) Run(ctx context.Context, c job.Call) job.Outcome { return f(ctx, c) }

// Module says where a module of the sandbox is.
type Module struct {
	Path   string // of the file
	SHA256 string // the digest that it must have, hex; empty: any
}

// Event is the start or the end of one guest, or one without an item: a strategy
// that failed, or a module that this server does not compile any more because
// that ended processes. The last has a digest in its Outcome and no job.
type Event struct {
	Kind      string // EventStart, EventEnd, EventStrategy or EventModule
	At        time.Time
	Config    job.Config
	Item      int
	TaskID    string
	Parameter string    // of the item
	Scheduled time.Time // the instant it runs for; of a trigger: when it was accepted
	Instance  job.InstanceID
	Cause     trace.Cause
	Run       string // the id of the run, which its attempts share
	Attempt   int
	State     trace.State   // trace.Running at the start
	Outcome   job.Outcome   // of an end
	Reason    reason.Reason // of an end: why it was stopped; of a strategy or a module: what is wrong
}

// The kinds of Event.
const (
	EventStart    = "start"
	EventEnd      = "end"
	EventStrategy = "strategy"
	EventModule   = "module"
)

// Options say what a Host does. Jobs are all that must be there; with Runner
// nil, DataDir and Modules, too.
type Options struct {
	// Registry is where servers meet; the caller closes it. Nil: one inside
	// this process, kept in DataDir/registry, or in memory if DataDir is empty.
	Registry registry.Registry
	// Namespace is the node above the jobs; empty is "wasmjobd".
	Namespace string
	// Jobs are run as they are; an empty Kind, Overlap, OnRegistryLoss or Layout
	// is simple, skip, cancel and 2.1.
	Jobs []job.Config
	// Instance is the id of this server; empty is 127.0.0.1 and the process id.
	// A variant of it is used if it occurs in a job.
	Instance job.InstanceID
	// Strategies are known to jobs by these names, beside the built-in ones.
	Strategies map[string]strategy.Strategy
	// Sinks keep the rows; a row is safe when all of them have it. Without any,
	// rows are forgotten.
	Sinks []trace.Sink
	// Runner runs the jobs' code; nil is the sandbox, for the modules below.
	Runner  Runner
	Modules map[string]Module // by the name that jobs use
	// Secrets are what jobs may be granted by name.
	Secrets map[string]string
	// Allow is the most that jobs of the registry are granted, and the most to
	// which the registry can raise what Jobs are granted.
	Allow GrantLimits
	// Private is what no job is granted beside DataDir, which none is.
	Private []job.Private
	// Discover lets this server also run the jobs that others have defined in
	// the registry, as far as it may and can.
	Discover bool
	// Peers are how modules pass between servers.
	Peers Peers
	// MonitorIP is the address on which the MonitorPort of a job is; empty is
	// 127.0.0.1. Whoever reaches it can read the job's nodes.
	MonitorIP string
	// PrivateHosts are names, or patterns "*.name", that granted requests may
	// reach although they lead to this machine or into a private network.
	PrivateHosts []string
	// NativeScripts lets jobs run commands of the operating system, which no
	// sandbox holds.
	NativeScripts bool
	// Supervisor is the command line of a program that calls Supervise with the args
	// that follow. Each command of the operating system runs below one, which ends all
	// that the command started when the run ends or this process does.
	Supervisor []string
	// Memory is how many bytes all instances of modules have together; who needs
	// more waits. It counts what the host holds for them, too. 0 is half of what
	// the control group of the process has, or the machine.
	Memory int64
	// Compiler is the command line of a program that calls CompileApart with two
	// more args. It compiles a module again whose compilation has ended the server
	// before. Nil: such a module is refused at once.
	Compiler []string
	// Alone says that nothing else runs in this process. Then the collector of
	// garbage runs more often than usual until all jobs have begun, unless it was
	// set otherwise (GOGC), and keeps Go's heap out of what guests may have and the
	// process cannot exceed (GOMEMLIMIT).
	Alone bool
	// Labels are what sharding strategies are told of this server.
	Labels map[string]string

	commands *native.Commands // nil: none can run; see openCommands

	// DataDir is the directory of this server alone. The registry inside, the modules and
	// their machine code are kept there. Without Runner, a host that has none takes no job.
	DataDir string
	// Workers is how many guests compute at once, of all jobs; 0 is four for each
	// processor. Those beyond it wait, and no job for another's to end. A Runner
	// whose runs wait themselves should give their Worker back meanwhile.
	Workers int
	// DrainTimeout is how long guests may go on at the end; 0 is 30 s. With NoDrain
	// they are asked to stop at once, and as well if job.ErrStopNow is the cause of
	// the end of Run's context.
	DrainTimeout time.Duration
	NoDrain      bool
	// Log gets records one at a time, from a goroutine of its own. No job waits
	// for a handler that blocks: what finds no room meanwhile is lost, and the
	// log says how much. Nil discards.
	Log *slog.Logger
	// Observe hears of each guest's start and end, of strategies that fail, and of
	// modules that are refused, in the order in which that happened, one at a
	// time, from a goroutine of its own. What finds no room while it blocks is
	// lost, and the log says so. The end of Run waits some seconds for what Log and
	// Observe have not taken yet.
	Observe func(Event)
}

// Peers say how a server gives modules to others, and asks them for those that it
// lacks.
type Peers struct {
	// Listen is the address on which modules are given; empty: nowhere.
	Listen string
	// Address is how others reach it, host and port; empty: as Listen says.
	Address string
	// Token is shared by all servers. Without one, Listen must be an address that
	// no other machine reaches.
	Token string
}

const (
	defaultNamespace = "wasmjobd"
	defaultDrain     = 30 * time.Second
	workersPerCPU    = 4
)

// WithDefaults returns the options as a Host takes them: each that was left open
// has the value that its comment names.
func (o Options) WithDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	if o.Instance == "" {
		o.Instance = job.NewInstanceID("127.0.0.1", strconv.Itoa(os.Getpid()))
	}
	if o.Workers == 0 {
		o.Workers = workersPerCPU * runtime.GOMAXPROCS(0)
	}
	if o.DrainTimeout == 0 && !o.NoDrain {
		o.DrainTimeout = defaultDrain
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Jobs = slices.Clone(o.Jobs)
	for i := range o.Jobs {
		c := &o.Jobs[i]
		c.Kind = cmp.Or(c.Kind, job.Simple)
		c.Overlap = cmp.Or(c.Overlap, job.Skip)
		c.OnRegistryLoss = cmp.Or(c.OnRegistryLoss, job.CancelOnLoss)
		c.Layout = cmp.Or(c.Layout, job.Layout21)
	}
	return o
}

const noDataDir = "data directory: the sandbox needs one; set DataDir, or Runner for jobs in Go"

// validate returns everything that is wrong, without looking at any file.
func (o *Options) validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := o.Instance.Validate(); err != nil {
		add("instance: %w", err)
	}
	if o.Memory < 0 {
		add("memory: %d is less than 0", o.Memory)
	}
	if o.Workers < 0 {
		add("workers: %d is less than 0", o.Workers)
	}
	switch {
	case o.DrainTimeout < 0:
		add("time to drain: %v is less than 0; set NoDrain for none", o.DrainTimeout)
	case o.DrainTimeout > 0 && o.NoDrain:
		add("time to drain: %v is set, and NoDrain as well; leave one of them out", o.DrainTimeout)
	}
	if o.Runner == nil && o.DataDir == "" && (len(o.Jobs) > 0 || o.Discover) {
		add(noDataDir)
	}
	if c, err := outbound.New(nil, outbound.Options{AllowPrivate: o.PrivateHosts}); err != nil {
		add("private hosts: %w", err)
	} else {
		c.Close()
	}
	seen := map[string]bool{}
	for _, text := range o.Allow.HTTP {
		if _, err := outbound.Parse(text); err != nil {
			add("allow: http: %w", err)
		}
	}
	if o.Peers.Address != "" {
		if err := peer.CheckAddress(o.Peers.Address); err != nil {
			add("address for peers: %w", err)
		}
	}
	for _, c := range o.Jobs {
		if seen[c.Name] {
			add("job %s: it is there twice", c.Name)
		}
		seen[c.Name] = true
		if err := o.validateJob(c); err != nil {
			add("job %s: %w", c.Name, err)
		}
	}
	return errors.Join(faults...)
}

func (o *Options) validateJob(c job.Config) error {
	faults := []error{c.Validate(), schedule.Check(c, time.Now())}
	if _, err := o.strategy(c.Strategy); err != nil {
		faults = append(faults, fmt.Errorf("strategy: %w", err))
	}
	faults = append(faults, o.validateCode(c), o.validateGrants(c.Allow))
	return errors.Join(append(faults, layout.Check(c))...)
}

// validateCode checks that what the job runs may be run here.
func (o *Options) validateCode(c job.Config) error {
	var faults []error
	if _, ok := o.Modules[c.StrategyModule]; c.StrategyModule != "" && (!ok || o.Runner != nil) {
		faults = append(faults, fmt.Errorf("strategy module: there is no module %q", c.StrategyModule))
	}
	switch _, ok := o.Modules[c.Module]; {
	case o.Runner != nil:
	case c.Command != "":
		if !o.NativeScripts {
			faults = append(faults, errors.New("command: commands of the operating system are not allowed; set NativeScripts"))
		} else if len(o.Supervisor) == 0 {
			faults = append(faults, errors.New("command: nothing would end what it starts; set Supervisor"))
		}
	case !ok:
		faults = append(faults, fmt.Errorf("module: there is no module %q", c.Module))
	}
	return errors.Join(faults...)
}

// validateGrants checks that what the job is granted is there.
func (o *Options) validateGrants(a job.Allow) error {
	var faults []error
	for _, name := range a.Secrets {
		if _, ok := o.Secrets[name]; !ok {
			faults = append(faults, fmt.Errorf("secrets: there is no secret %q", name))
		}
	}
	for _, text := range a.HTTP {
		if _, err := outbound.Parse(text); err != nil {
			faults = append(faults, fmt.Errorf("http: %w", err))
		}
	}
	return errors.Join(faults...)
}

// private is all that no job is granted.
func (o *Options) private() []job.Private {
	if o.DataDir == "" {
		return o.Private
	}
	return append([]job.Private{DataPrivate(o.DataDir)}, o.Private...)
}

// DataPrivate says that a directory is one in which a server keeps its data.
func DataPrivate(dir string) job.Private {
	return job.Private{Path: dir, What: "where this server keeps its own data"}
}

// strategy finds a strategy by name; the caller's own go first.
func (o *Options) strategy(name string) (strategy.Strategy, error) {
	return assign.Find(o.Strategies, name)
}
