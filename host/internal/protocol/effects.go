package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// Effect is an act of the runner without a commit.
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Run starts the guest of an open entry.
	Run struct {
		Entry Entry
		Fence int64
		Items []int // all items that began with it
	}
	// Cancel asks a guest to stop; Hard ends it at once.
	Cancel struct {
		Item int
		Hard bool
		Why  reason.Reason
	}
	// Drain: the member leaves, and its guests may go on for as long as when the server
	// stops.
	Drain struct{ Why reason.Reason }
	// Listen calls the module's listener of fires; answered by CallEnded.
	Listen struct {
		Event   Event
		Instant int64
		Attempt int
		Fence   int64
		Results Results // of FireCompleted; the zero value if it is not known
	}
	// EndCall ends the call of the listener.
	EndCall struct{}
	// Prepare asks for the module with the digest. Answered by Prepared.
	Prepare struct{ Digest string }
	// Assign asks the job's strategy; answered by Assigned.
	Assign struct{ Request AssignRequest }
	// Reschedule: the cron text changed (also the first one). Answered by
	// Passed and, from then on, by Ticks.
	Reschedule struct{ Cron string }
	// Store hands rows to the history, with the schedules that the job followed;
	// answered by Stored.
	Store struct {
		Rows      []Row
		Schedules []Schedule
	}
	// Wake asks for an Elapsed at At at the latest.
	Wake struct{ At int64 }
	// Sync follows a commit that was refused or whose outcome is unknown: the
	// runner syncs, and publishes the next view only when the mirror has
	// settled after that. If the outcome is unknown it also reads everything
	// again.
	Sync struct{}
	// Reread asks the mirror to read everything again (reconcile).
	Reread struct{}
	// Answer ends an Asked.
	Answer struct {
		ID    int64
		Fault string
	}
	// Note is a line of the log, for operators.
	Note struct {
		Why   reason.Reason
		Wrong bool // it keeps the job from going on
		Goes  bool // it keeps the job from going on as it should, but not altogether
	}
	// Stop: the member has left; the runner ends its job session and, with Rejoin,
	// begins anew in another one. With Removed the job may be being removed: the next
	// member must not define it.
	Stop struct{ Rejoin, Removed bool }
)

func (Run) effect()        {}
func (Cancel) effect()     {}
func (Drain) effect()      {}
func (Listen) effect()     {}
func (EndCall) effect()    {}
func (Prepare) effect()    {}
func (Assign) effect()     {}
func (Reschedule) effect() {}
func (Store) effect()      {}
func (Wake) effect()       {}
func (Sync) effect()       {}
func (Reread) effect()     {}
func (Answer) effect()     {}
func (Note) effect()       {}
func (Stop) effect()       {}

// AssignRequest is what a strategy gets. A result counts only while the view
// still asks the same.
type AssignRequest struct {
	Strategy  string
	Shared    bool                // with foreign members, which may know strategies that this one does not
	Instances []ID                // descending
	Labels    []map[string]string // by instance; nil where there are none
	Total     int
	Previous  [][]int // by instance
	Epoch     int32   // version of the assignment it would replace
}

func (p *Plan) add(e Effect) { p.Effects = append(p.Effects, e) }
