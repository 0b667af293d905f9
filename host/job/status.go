package job

import (
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Status is what one server knows about a job at one moment.
type Status struct {
	// Config is the job's configuration. The registry's values have precedence over the
	// server's own file.
	Config Config
	// Fault is why this server cannot run the job's code, so that each of its runs fails; empty
	// if it can.
	Fault string
	// Troubles are present problems of a job that runs all the same.
	Troubles []reason.Reason

	Instance  InstanceID // this server as a member of the job; empty before it has joined and after it has left
	Leader    InstanceID // empty if there is no leader
	Instances []InstanceID
	Paused    bool
	Items     []ItemStatus // by number
	// Next is the next scheduled instant; zero if there is none or it is unknown.
	Next time.Time
	// Succeeded and Failed count the elements that a dataflow job has handled on all servers
	// since it was created.
	Succeeded, Failed int64
}

// ItemStatus is the state of one item according to the registry.
type ItemStatus struct {
	Item     int
	Owner    InstanceID // empty while no member owns it
	Running  bool       // a run is open, on any server
	Disabled bool
	Misfired bool       // an instant came during its run and will begin after it
	Pending  bool       // an interrupted run waits for a server
	TakenBy  InstanceID // the member that took it over after a failure; empty: none
	// LastBegin is when its newest run began, LastEnd when a run last ended; zero if not known.
	// In jobs of thousands of items they may be rounded down.
	LastBegin, LastEnd time.Time
	// Next is its next scheduled instant; zero if the item is disabled or the job is paused.
	Next time.Time
}
