package job

import "time"

// Kind is the way a module is called.
type Kind string

const (
	Simple   Kind = "simple"
	Dataflow Kind = "dataflow"
	Script   Kind = "script"
)

// Overlap says what a scheduled instant (misfire off) or a trigger does to an
// item whose run has not ended.
type Overlap string

const (
	Skip     Overlap = "skip"
	QueueOne Overlap = "queue-one"
	Replace  Overlap = "replace"
)

// CatchUp says which instants begin late that were missed while no server was there.
type CatchUp string

const (
	CatchUpNone CatchUp = ""     // jobs.toml says none
	CatchUpLast CatchUp = "last" // the newest of each item
	CatchUpAll  CatchUp = "all"  // the newest MaxCatchUp of each item, one after the other
)

// OnRegistryLoss says what happens to running items when the registry session is in
// doubt.
type OnRegistryLoss string

const (
	CancelOnLoss OnRegistryLoss = "cancel"
	FinishOnLoss OnRegistryLoss = "finish"
)

// Config describes one job. The zero value is not valid; see Validate.
type Config struct {
	Name        string
	Kind        Kind
	Cron        string        // Quartz 2.2.1 dialect; empty for a manual job
	TimeZone    string        // IANA name; empty is UTC
	Dialect     string        // "quartz" (also when empty) or "unix"
	Except      []string      // days on which the job does not fire, in its time zone; see ParseDays
	Jitter      time.Duration // by up to which each instant comes later; always by the same for one job; 0: at once
	After       []string      // jobs; it runs once all items of each have ended well at one of their instants, and has no cron
	Shards      int           // sharding total count
	ItemParams  string        // ElasticJob's text: 0=a,1=b
	Param       string
	Description string

	Module string // name of the module in the configuration of the server
	// ModuleDigest is the sha256 of the module that runs, in hex. The registry
	// says which; empty in a server's own file.
	ModuleDigest string
	Strategy     string // any name that strategy.Named knows; empty is average
	// StrategyModule is the module that assigns the items instead. The name in
	// Strategy stays in the registry for members that know no modules.
	StrategyModule string
	StrategyDigest string // as ModuleDigest
	// OnStrategyError says what happens when that module fails; empty is
	// AssignAverage.
	OnStrategyError OnStrategyError
	Class           string // what Java members know as jobClass

	Failover         bool
	Misfire          bool
	MonitorExecution bool
	MonitorPort      int  // where a server with a dump port in its own file dumps the job's nodes; 0: nowhere
	Disabled         bool // applied when the server's node is created
	Overwrite        bool // the local configuration replaces the registry's

	CatchUp        CatchUp
	Overlap        Overlap
	OnRegistryLoss OnRegistryLoss
	// MaxClockSkew is how much the clock of a server may differ from the registry's, as
	// ElasticJob's maxTimeDiffSeconds. Negative is no check, which is the default of
	// jobs.toml. 0, as where it is left out, is a bound as well: less than one second.
	MaxClockSkew   time.Duration
	ReconcileEvery time.Duration // 0: off; the registry stores whole minutes
	Timeout        time.Duration // of one run; 0: none
	Retry          Retry         // of runs that failed
	ErrorHandler   ErrorHandler  // what is done about a run that failed
	Notify         []string      // names of the notifiers that send the job's alerts
	Expect         Expect        // what the job is to keep to, else there is an alert
	Parallel       int           // items of this job at once on one server; 0: four for each worker of the server

	Streaming   bool     // dataflow: fetch batches until there is none
	FetchCount  int      // dataflow: elements that a batch should have; 0: any
	Concurrency int      // dataflow: parts of a batch processed at once; 0: 1
	Args        []string // script: arguments before the context
	Command     string   // script: command line of the operating system instead of a module

	Settings map[string]string // what the guest reads with config_get
	Limits   Limits
	Allow    Allow
	Layout   string // registry layout; "2.1"

	// Unsaid lists the settings, by their names in jobs.toml, that the server's own
	// file leaves out: their values here are defaults, which yield to any other.
	// The registry holds no such list.
	Unsaid []string
}

// Retry lets runs that failed, or ran out of time, be made again, unless the next
// instant of their item has come. The zero value lets nothing be made again.
type Retry struct {
	Attempts   int           // of a run, in all
	Backoff    time.Duration // before the second; each wait after that is twice the one before
	MaxBackoff time.Duration // 0: no limit
	// OnlyAsked retries only runs whose guest asked for another attempt, not those
	// that failed in another way or ran out of time.
	OnlyAsked bool
}

// ErrorHandler says what is done about a run that failed, in ElasticJob's words. Its row in
// the history is there in any case.
type ErrorHandler string

const (
	LogErrors    ErrorHandler = ""       // the log has it as an error, and there is an alert; jobs.toml says log
	ThrowErrors  ErrorHandler = "throw"  // as LogErrors: nothing above a run could catch it
	IgnoreErrors ErrorHandler = "ignore" // neither
)

// Expect is what a job is to keep to. The zero value expects nothing.
type Expect struct {
	Within      time.Duration // each item has ended so long after each instant of the schedule; 0: any time
	MaxDuration time.Duration // of one attempt of an item; 0: any
}

// OnStrategyError says how items are assigned when a strategy's module fails.
type OnStrategyError string

const (
	AssignAverage OnStrategyError = "average" // the built-in strategy
	KeepOld       OnStrategyError = "keep"    // not at all: the last assignment stays
)

// Limits bound one run. A zero field means the default of the sandbox.
type Limits struct {
	Memory     int64 // bytes
	Fuel       int64 // units; 0: no limit but time
	Result     int64 // bytes
	LogLine    int64 // bytes
	LogRate    int   // lines per second
	Grace      time.Duration
	Batch      int64 // bytes of all elements of a batch
	StateValue int64 // bytes of one value
	HTTPCalls  int   // requests, redirects included
	HTTPBody   int64 // bytes of one body, either way
	OpenFiles  int
	Pool       Pool
}

// Pool lets runs of a job reuse instances. The zero value gives every run a
// fresh one.
type Pool struct {
	Size    int // instances that are kept warm on one server
	MaxUses int // runs of one instance; 0: the default of the sandbox
}

// Allow holds the grants of a module; the zero value grants nothing.
type Allow struct {
	Dirs    []Dir
	Env     map[string]string
	Clock   string // "" (fixed) or "real"
	Random  bool
	State   bool
	Secrets []string // names
	// HTTP lists the requests that may be sent, each as "[METHOD ]URL": scheme,
	// host (a first label "*" stands for any one), port and path prefix. The URL
	// "https://*" stands for every public host.
	HTTP []string
}

// Gives reports whether anything is granted under a key of the table.
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

// Private is a file or a directory of the server that no grant of a directory
// may reach: not the directory itself, none that it lies in, none in it.
type Private struct {
	Path     string // absolute
	What     string // for messages: "the history"
	Readable bool   // only grants for writing are refused
}

// Dir is a directory that a guest may use.
type Dir struct {
	Host  string // directory on the server
	Guest string // absolute path that the guest sees
	Write bool   // and change
}
