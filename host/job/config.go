package job

import "time"

// Kind is the way a module is called.
type Kind string

const (
	Simple   Kind = "simple"
	Dataflow Kind = "dataflow"
	Script   Kind = "script"
)

// Overlap says what happens when an instant (if misfire is off) or a trigger comes for an item
// whose run has not ended.
type Overlap string

const (
	Skip     Overlap = "skip"
	QueueOne Overlap = "queue-one"
	Replace  Overlap = "replace"
)

// CatchUp says which of the instants that were missed while no server was there begin late.
type CatchUp string

const (
	CatchUpNone CatchUp = ""     // none in jobs.toml
	CatchUpLast CatchUp = "last" // the newest of each item
	CatchUpAll  CatchUp = "all"  // the newest MaxCatchUp of each item, one after the other
)

// OnRegistryLoss says what happens to running items when the registry session is in doubt.
type OnRegistryLoss string

const (
	CancelOnLoss OnRegistryLoss = "cancel"
	FinishOnLoss OnRegistryLoss = "finish"
)

// Config describes one job. The zero value is not valid; see Validate.
type Config struct {
	Name        string
	Kind        Kind
	Cron        string        // in the dialect; empty for a manual job, and for one with After
	TimeZone    string        // IANA name; empty is UTC
	Dialect     string        // "quartz" (also when empty) or "unix"
	Except      []string      // days, in the job's time zone, on which it does not fire; see ParseDays
	Jitter      time.Duration // bound of the delay of each instant; a job's delay is always the same; 0: none
	After       []string      // the job has no cron, but runs at each instant at which all items of all of these jobs have succeeded
	Shards      int           // number of items
	ItemParams  string        // in ElasticJob's format: 0=a,1=b
	Param       string
	Description string

	Module string // name of the module in the configuration of the server
	// ModuleDigest is the SHA-256, in hex, of the module that runs. It comes from the registry;
	// in a server's own file it is empty.
	ModuleDigest string
	Strategy     string // any name that strategy.Named knows; empty: average
	// StrategyModule is the module that assigns the items instead. The name in Strategy stays
	// in the registry for members that know no modules.
	StrategyModule string
	StrategyDigest string // like ModuleDigest
	// OnStrategyError says what happens when that module fails; empty is AssignAverage.
	OnStrategyError OnStrategyError
	Class           string // jobClass of foreign members

	Failover         bool
	Misfire          bool
	MonitorExecution bool
	MonitorPort      int  // servers with a dump port in their own file dump the job's nodes there; 0: none do
	Disabled         bool // applied when the server's node is created
	Overwrite        bool // the server's own file replaces the registry's configuration

	CatchUp        CatchUp
	Overlap        Overlap
	OnRegistryLoss OnRegistryLoss
	// MaxClockSkew is how much a server's clock may differ from the registry's, as ElasticJob's
	// maxTimeDiffSeconds. A negative value, the default in jobs.toml, turns the check off. 0 is
	// a bound as well: less than one second.
	MaxClockSkew   time.Duration
	ReconcileEvery time.Duration // 0: off; the registry stores whole minutes
	Timeout        time.Duration // of one run; 0: none
	Retry          Retry         // for failed runs
	ErrorHandler   ErrorHandler  // what happens after a failed run
	Notify         []string      // names of the notifiers that send the job's alerts
	Expect         Expect        // raises an alert if the job does not keep to it
	Parallel       int           // items of this job that one server runs at a time; 0: four for each worker of the server

	Streaming   bool     // dataflow: fetch batches until there is none
	FetchCount  int      // dataflow: wanted elements per batch; 0: any
	Concurrency int      // dataflow: parts of a batch processed concurrently; 0: 1
	Args        []string // script: arguments before the context
	Command     string   // script: command line to execute instead of a module

	Settings map[string]string // what the guest reads with config_get
	Limits   Limits
	Allow    Allow
	Layout   string // registry layout, such as "2.1"

	// Unsaid lists the settings, by their names in jobs.toml, that the server's own file leaves
	// out. Their values here are defaults, which yield to any other. The registry holds no such
	// list.
	Unsaid []string
}

// Retry lets runs that failed or timed out be tried again, unless the next instant of their
// item has come. The zero value lets none.
type Retry struct {
	Attempts   int           // of a run, including the first
	Backoff    time.Duration // before the second attempt; each further wait is twice as long
	MaxBackoff time.Duration // longest wait; 0: no limit
	// OnlyAsked retries only runs whose guest asked for it, not runs that failed in another way
	// or timed out.
	OnlyAsked bool
}

// ErrorHandler says what happens after a failed run, in ElasticJob's words. The history has a
// row in any case.
type ErrorHandler string

const (
	LogErrors    ErrorHandler = ""       // logs an error and raises an alert; log in jobs.toml
	ThrowErrors  ErrorHandler = "throw"  // like LogErrors: nothing above a run could catch it
	IgnoreErrors ErrorHandler = "ignore" // neither
)

// Expect bounds the times of a job; an alert is raised when one is exceeded. The zero value has
// no bounds.
type Expect struct {
	Within      time.Duration // from each instant of the schedule until each item has ended; 0: any time
	MaxDuration time.Duration // of one attempt of an item; 0: any
}

// OnStrategyError says how items are assigned when a strategy's module fails.
type OnStrategyError string

const (
	AssignAverage OnStrategyError = "average" // by the built-in strategy
	KeepOld       OnStrategyError = "keep"    // not at all; the last assignment stays
)

// Limits bound one run. A zero field means the default of the sandbox.
type Limits struct {
	Memory     int64 // bytes
	Fuel       int64 // 0: only time limits the run
	Result     int64 // bytes
	LogLine    int64 // bytes
	LogRate    int   // lines per second
	Grace      time.Duration
	Batch      int64 // bytes of all elements of a batch
	StateValue int64 // bytes of one value
	HTTPCalls  int   // requests, redirects included
	HTTPBody   int64 // bytes of one request's or response's body
	OpenFiles  int
	Pool       Pool
}

// Pool lets runs of a job reuse instances. The zero value gives every run a fresh one.
type Pool struct {
	Size    int // instances kept warm on one server
	MaxUses int // runs per instance; 0: the default of the sandbox
}

// Allow holds the grants of a module; the zero value grants nothing.
type Allow struct {
	Dirs    []Dir
	Env     map[string]string
	Clock   string // "" (fixed) or "real"
	Random  bool
	State   bool
	Secrets []string // names
	// HTTP lists the requests that may be sent, each as "[METHOD ]URL". The URL has a scheme, a
	// host (whose first label may be "*", for any label), a port and a path prefix. The URL
	// "https://*" stands for every public host.
	HTTP []string
}

// Gives reports whether anything is granted under a key of the table of grants in jobs.toml, such
// as "dirs". A fixed clock is no grant.
func (a Allow) Gives(key string) bool {
	switch key {
	case "dirs":
		return len(a.Dirs) > 0
	case "env":
		return len(a.Env) > 0
	case "clock":
		return a.Clock == "real"
	case "random":
		return a.Random
	case "state":
		return a.State
	case "secrets":
		return len(a.Secrets) > 0
	case "http":
		return len(a.HTTP) > 0
	}
	return false
}

// Private is a file or directory of the server that no granted directory may reach: a grant may
// not name it, a directory above it, or one inside it.
type Private struct {
	Path     string // absolute
	What     string // for messages: "the history"
	Readable bool   // only grants for writing are refused
}

// Dir is a directory that a guest may use.
type Dir struct {
	Host  string // directory on the server
	Guest string // absolute path that the guest sees
	Write bool   // the guest may also write
}
