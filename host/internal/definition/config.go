package definition

import "github.com/wasmjob/wasmjob/host/job"

// Config is the part of a definition that members of ElasticJob read, decoded by a
// layout. Two configurations of one layout with the same values are equal.
type Config interface {
	Facts() Facts
	// Apply returns the job with the registry's configuration, which has precedence over
	// the server's own file. What the registry does not hold stays.
	Apply(j job.Config) job.Config
	// Adopt fills in settings that a file cannot express with the registry's values, so
	// that the file does not seem to change them. If the file names no class, class is
	// the one that is kept beside the registry's module; else it is empty.
	Adopt(there Config, class string) Config
	// Object is the whole configuration as an object of JSON, with the keys of
	// job.Settings.
	Object() ([]byte, error)
	// FromObject reads what Object wrote. It ignores other keys.
	FromObject(text []byte) (Config, error)
}

// Facts are what other packages than its layout read of a Config.
type Facts struct {
	Name, Layout string
	// ByAddress: the layout knows members by their addresses.
	ByAddress bool
	// Class is what members of ElasticJob run, and Type what they call the kind of it.
	Class, Type string
	Kind        job.Kind
	// OnlyOurs is set if no member of ElasticJob can run the job, so that a file may
	// choose its class.
	OnlyOurs bool
	// HTTP and Static are set where no server of ours can run the job: it sends a request,
	// or its items stay with the members that got them first.
	HTTP, Static     bool
	Strategy         string // as members of ElasticJob name it; empty: none is named
	StrategyType     string // the only name that they take for Strategy; empty: Strategy itself
	Failover         bool
	MonitorExecution bool
	Overwrite        bool
}
