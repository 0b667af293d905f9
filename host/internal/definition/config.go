package definition

import "github.com/wasmjob/wasmjob/host/job"

// Config is the part of a definition that members of ElasticJob read, decoded by a
// layout. Two configurations of one layout with the same values are equal.
type Config interface {
	Facts() Facts
	// Apply returns the job with the registry's configuration, which overrides the
	// server's own file. Settings that the registry does not hold stay.
	Apply(j job.Config) job.Config
	// Adopt fills in settings that a file cannot express with the registry's values, so
	// that the file does not seem to change them. class is empty, or, if the file names
	// no class, the class that is kept beside the registry's module.
	Adopt(there Config, class string) Config
	// Object returns the whole configuration as a JSON object with the keys of
	// job.Settings.
	Object() ([]byte, error)
	// FromObject decodes the result of Object. It ignores other keys.
	FromObject(text []byte) (Config, error)
}

// Facts are the parts of a Config that packages other than its layout read.
type Facts struct {
	Name, Layout string
	// ByAddress says that the layout identifies members by their addresses.
	ByAddress bool
	// Class is the class that members of ElasticJob run, and Type their name for its
	// kind.
	Class, Type string
	Kind        job.Kind
	// OnlyOurs says that no member of ElasticJob can run the job, so a file may choose
	// its class.
	OnlyOurs bool
	// HTTP and Static say that no server of ours can run the job, because it sends a
	// request, or because its items stay with the members that got them first.
	HTTP, Static     bool
	Strategy         string // as members of ElasticJob name it; empty if none
	StrategyType     string // the only name that they accept for Strategy; empty if that is Strategy itself
	Failover         bool
	MonitorExecution bool
	Overwrite        bool
}
