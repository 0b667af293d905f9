package job

import (
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Status is what one server knows about a job at one moment.
type Status struct {
	// Config is the job's configuration; what the registry says of it has
	// precedence over the server's own file.
	Config Config
	// Fault is why this server does not run the job's code, so that each of its
	// runs fails; empty if it does.
	Fault string
	// Troubles are problems that exist at present although the job runs.
	Troubles []reason.Reason

	Instance  InstanceID // this server as a member of the job; empty while it has not joined, and when it has left
	Leader    InstanceID // empty if there is no leader
	Instances []InstanceID
	Paused    bool
	Items     []ItemStatus // by number
	// Next is the next scheduled instant; zero if there is none, or it is unknown.
	Next time.Time
	// Succeeded and Failed are the elements that a dataflow has handled, on all
	// servers, since there is the job.
	Succeeded, Failed int64
}

// ItemStatus is the state of one item according to the registry.
type ItemStatus struct {
	Item     int
	Owner    InstanceID // empty while no member owns it
	Running  bool       // a run is open, on whatever server
	Disabled bool
	Misfired bool       // an instant came while it ran; it will be made good
	Pending  bool       // an interrupted run waits for a server
	TakenBy  InstanceID // the member that took it over after a failure; empty: none
	// LastBegin is when its newest run began, LastEnd when one ended last; zero if
	// that is not known. In jobs of thousands of items they may be rounded down.
	LastBegin, LastEnd time.Time
	// Next is when it is due; zero if it is disabled, or the job is paused.
	Next time.Time
}
