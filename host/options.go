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
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/internal/native"
	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/schedule"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/strategy"
)

// Runner runs the code of all jobs of a Host.
type Runner interface {
	// Run executes one attempt of one item. It must return promptly when ctx ends, and call
	// c.Why now and then to see whether it should stop earlier. It is called concurrently.
	Run(ctx context.Context, c job.Call) job.Outcome
}

// Listener is a Runner that also receives the events of fires, like modules that export
// wasmjob_started or wasmjob_completed. When every item has begun at an instant, and again when
// all these runs have ended, one server calls Run with a Call whose Event is set.
type Listener interface {
	// Listens reports which of the two events Run wants.
	Listens() (started, completed bool)
}

// Func is a Runner made of one function.
type Func func(ctx context.Context, c job.Call) job.Outcome

// Run calls f.
func (f Func) Run(ctx context.Context, c job.Call) job.Outcome { return f(ctx, c) }

// Module is a module for the sandbox: a file, or an artifact that contains it.
type Module struct {
	Path     string
	Artifact string // a reference for Options.Pull, instead of Path
	SHA256   string // the digest that the module must have, in hex; empty: any
	// Keys are public keys in minisign's format. If there are any, one of them must have signed
	// whatever runs under this module's name, wherever it came from. The signature of a file is
	// in a file beside it whose name ends in ".minisig".
	Keys []string
}

// Artifact is a module fetched from a registry of artifacts.
type Artifact struct {
	Wasm      []byte
	Signature []byte // in minisign's text format; nil if there is none
	Manifest  string // digest of the artifact, as sha256:HEX
}

// Event is the start or the end of a guest. Two kinds have no item: a strategy that failed, and
// a module that this server refuses because compiling it ended a process. The latter has a
// digest in its Outcome and no job.
type Event struct {
	Kind      string // one of the constants below
	At        time.Time
	Config    job.Config
	Item      int
	TaskID    string
	Parameter string    // the item's parameter
	Scheduled time.Time // the instant of the run; for a trigger, when it was accepted
	Instance  job.InstanceID
	Cause     trace.Cause
	Run       string // id of the run, common to its attempts
	Attempt   int
	State     trace.State   // trace.Running at the start
	Outcome   job.Outcome   // set at the end
	Reason    reason.Reason // at the end, why the guest was stopped; for a strategy or module, its fault
	Row       *trace.Row    // the row of EventRow, which sets nothing else; must not be changed
}

// Kinds of Event.
const (
	EventStart    = "start"
	EventEnd      = "end"
	EventStrategy = "strategy"
	EventModule   = "module"

	// EventRow is a new row of the history. It is reported before the history has stored it,
	// and a second time if the registry session ends before that.
	EventRow = "row"
	// EventReshard: this server has assigned the items of a job as its leader.
	EventReshard = "reshard"
	// EventCompiled: a module was compiled. Its Outcome has digest and duration.
	EventCompiled = "compiled"
)

// Options configure a Host. Only Jobs is required and, if Runner is nil, DataDir and Modules.
type Options struct {
	// Registry connects the servers of a cluster; the caller closes it. If it is nil, the
	// registry is inside this process and stored in DataDir/registry, or in memory if DataDir
	// is empty.
	Registry registry.Registry
	// Namespace is the node above the jobs; empty: "wasmjobd".
	Namespace string
	// Jobs are the host's own jobs. Defaults for empty Kind, Overlap, OnRegistryLoss and
	// Layout are simple, skip, cancel and 2.1.
	Jobs []job.Config
	// Instance is the id of this server; empty: 127.0.0.1 and the process id. If a job already
	// has a member with that id, the server joins that job under a variant of it.
	Instance job.InstanceID
	// Strategies are sharding strategies by the names that jobs use, in addition to the
	// built-in ones.
	Strategies map[string]strategy.Strategy
	// Sinks store the rows. A row is safe when all of them have it. Without sinks, rows are
	// discarded.
	Sinks []trace.Sink
	// Runner runs the code of the jobs; nil: the sandbox does, with Modules.
	Runner  Runner
	Modules map[string]Module // by the name that jobs use
	// Pull fetches an artifact by its reference, for Modules with an Artifact. It must not read
	// more bytes than a module may have.
	Pull func(ctx context.Context, reference string) (Artifact, error)
	// ModuleKeys are public keys in minisign's format. If there are any, the sandbox loads only
	// modules that one of them has signed, wherever they came from.
	ModuleKeys []string
	// Secrets are values by the names under which jobs are granted them.
	Secrets map[string]string
	// Allow limits the grants of jobs of the registry, and how far the registry can raise the
	// grants of Jobs.
	Allow GrantLimits
	// Private are directories that no job may be granted. DataDir is always one of them.
	Private []job.Private
	// Discover makes this server also run jobs that others have defined in the registry, unless
	// a limit or a missing module prevents it.
	Discover bool
	// Created makes a server without Discover also run jobs that no file has ever defined: an
	// operator created them.
	Created bool
	// Peers are the other servers of the cluster, for the exchange of modules.
	Peers Peers
	// MonitorIP is the address for the MonitorPort of jobs; empty: 127.0.0.1. Anyone who can
	// reach it can read the nodes of the job.
	MonitorIP string
	// PrivateHosts are names, or patterns "*.name", of hosts on this machine or in a private
	// network that granted requests may reach anyway.
	PrivateHosts []string
	// NativeScripts allows jobs to run commands of the operating system, outside of any
	// sandbox.
	NativeScripts bool
	// Supervisor is the command line of a program that calls Supervise with the arguments that
	// are appended. Each command of the operating system runs below a supervisor, which ends
	// all processes of the command when the run or this process ends.
	Supervisor []string
	// Memory limits the memory, in bytes, of all module instances together, including what the
	// host needs for them. Runs that need more wait. 0: half of the memory of the process's
	// control group, or of the machine.
	Memory int64
	// Compiler is the command line of a program that calls CompileInSubprocess with the two
	// arguments that are appended. It compiles a module whose compilation has ended the server
	// before. If it is nil, such a module is refused at once.
	Compiler []string
	// Alone says that the process does nothing but run this Host. Then Run tunes the garbage
	// collector: it collects more often until all jobs have begun, unless GOGC is set, and it
	// limits Go's heap to what guests may not use, unless GOMEMLIMIT is set.
	Alone bool
	// Labels describe this server to sharding strategies.
	Labels map[string]string

	commands *native.Commands // nil if none can run; see openCommands

	// DataDir is a directory for this server alone. It stores there the registry inside, the
	// modules and their machine code. Without DataDir, a host that has no Runner refuses every
	// job.
	DataDir string
	// Workers is the number of guests that compute at the same time, over all jobs; 0: four per
	// processor. Other guests wait, but no job waits for the end of another job's run. A Runner
	// whose runs wait should release their Worker meanwhile.
	Workers int
	// DrainTimeout is how long guests may go on at the end of Run; 0: 30 s. With NoDrain they
	// are asked to stop at once, as they are if job.ErrStopNow is the cause of the end of Run's
	// context.
	DrainTimeout time.Duration
	NoDrain      bool
	// Log receives records one at a time, from its own goroutine; nil discards them. No job
	// waits for a handler that blocks. When the queue is full, records are lost, and the log
	// says how many.
	Log *slog.Logger
	// Logs receives the lines of the runs for callers that follow them; nil discards them.
	Logs *runlog.Logs
	// Observe receives the start and end of each guest, failed strategies and refused modules,
	// in order and one at a time, from its own goroutine. When it blocks and its queue is full,
	// events are lost, and the log says so. The end of Run waits some seconds until Log and
	// Observe have received everything.
	Observe func(Event)
	// Count receives the same events, and also those of the kinds EventRow, EventReshard and
	// EventCompiled. It is called concurrently, by the goroutine in which the event happens,
	// and loses none. Jobs wait for it, so it must not block: it is for adding numbers up. It
	// must not change the event.
	Count func(*Event)
}

// Peers configure how a server serves modules to other servers, and fetches missing ones from
// them.
type Peers struct {
	// Listen is the address on which this server serves modules; empty: it serves none.
	Listen string
	// Address is the host and port that other servers use for Listen; empty: like Listen.
	Address string
	// Token is shared by all servers. Without one, no other machine may be able to reach
	// Listen.
	Token string
}

const (
	defaultNamespace = "wasmjobd"
	defaultDrain     = 30 * time.Second
	workersPerCPU    = 4
)

// WithDefaults returns the options with the defaults that their comments name.
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

// noDataDir is the fault of options without a data directory whose jobs are modules.
const noDataDir = "data directory: the sandbox needs one; set DataDir, or Runner for jobs in Go"

// validate returns all faults of the options. It reads no file.
func (o *Options) validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := o.Instance.Validate(); err != nil {
		add("instance: %w", err)
	}
	if clustertree.Reserved(o.Namespace) {
		add("namespace: %.256q is or lies in a node where another cluster keeps its state: choose one without a part that ends in %s", o.Namespace, clustertree.Suffix)
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
	if o.Runner == nil && o.DataDir == "" && (len(o.Jobs) > 0 || o.Discover || o.Created) {
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
	if _, err := signature.ParseKeys(o.ModuleKeys); err != nil {
		add("keys of modules: %w", err)
	}
	for name, m := range o.Modules {
		if _, err := signature.ParseKeys(m.Keys); err != nil {
			add("keys of module "+name+": %w", err)
		}
	}
	for _, c := range o.Jobs {
		if seen[c.Name] {
			add("job %s: the name occurs twice", c.Name)
		}
		seen[c.Name] = true
		if err := o.validateJob(c); err != nil {
			add("job %s: %w", c.Name, err)
		}
	}
	return errors.Join(faults...)
}

// validateJob returns all faults of a job of the options, in its configuration alone and together
// with the other options.
func (o *Options) validateJob(c job.Config) error {
	faults := []error{c.Validate(), schedule.Check(c, time.Now()), clustertree.CheckJob(c.Name)}
	if _, err := o.strategy(c.Strategy); err != nil {
		faults = append(faults, fmt.Errorf("strategy: %w", err))
	}
	faults = append(faults, o.validateCode(c), o.validateGrants(c.Allow))
	return errors.Join(append(faults, layout.Check(c))...)
}

// validateCode checks that this server has the modules of the job, or may run its command. With a
// Runner, the job needs no module, and cannot have a strategy in one.
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
			faults = append(faults, errors.New("command: nothing would end the processes that it starts; set Supervisor"))
		}
	case !ok:
		faults = append(faults, fmt.Errorf("module: there is no module %q", c.Module))
	}
	return errors.Join(faults...)
}

// validateGrants checks that the secrets of a job exist and that its HTTP grants are valid.
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

// private returns all directories that no job may be granted.
func (o *Options) private() []job.Private {
	if o.DataDir == "" {
		return o.Private
	}
	return append([]job.Private{DataPrivate(o.DataDir)}, o.Private...)
}

// DataPrivate describes a directory in which a server stores its data, for Options.Private.
func DataPrivate(dir string) job.Private {
	return job.Private{Path: dir, What: "the data of this server"}
}

// strategy returns the strategy with a name, first from Options.Strategies.
func (o *Options) strategy(name string) (strategy.Strategy, error) {
	return assign.Find(o.Strategies, name)
}
