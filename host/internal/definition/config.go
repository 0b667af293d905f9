package definition

import "github.com/wasmjob/wasmjob/host/job"

// Config is the part of a definition that members of ElasticJob read, as a layout
// has decoded it. Two of the same layout that say the same are equal.
type Config interface {
	Facts() Facts
	// Apply returns the job with what the registry says of it, which has
	// precedence over the server's own file. What the registry doesn't know of
	// stays.
	Apply(j job.Config) job.Config
	// Adopt fills in what a file has no word for from what the registry has, so
	// that the file does not seem to say something about it. class is the one that
	// stands beside the registry's module, if the file names none; else empty.
	Adopt(there Config, class string) Config
	// Object is all that it says, as an object of JSON whose keys are those of
	// job.Settings.
	Object() ([]byte, error)
	// FromObject reads what Object wrote. Other keys are passed over.
	FromObject(text []byte) (Config, error)
}

// Facts are what others than its layout ask of a Config.
type Facts struct {
	Name, Layout string
	// Class is what members of ElasticJob run, and Type what they call the kind of it.
	Class, Type string
	Kind        job.Kind
	// OnlyOurs: no member of ElasticJob can run it, so a file may say what its class
	// is to be.
	OnlyOurs         bool
	Strategy         string // as members of ElasticJob name it; empty: none is named
	Failover         bool
	MonitorExecution bool
	Overwrite        bool
}
