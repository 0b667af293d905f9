package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// Effect is an act of the runner that needs no commit.
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Run starts the guest of an open entry.
	Run struct {
		Entry Entry
		Fence int64
		Items []int // all items that began together with it
	}
	// Cancel asks a guest to stop; Hard ends it at once.
	Cancel struct {
		Item int
		Hard bool
		Why  reason.Reason
	}
	// Drain tells guests that the member leaves. They may go on for as long as when the
	// server stops.
	Drain struct{ Why reason.Reason }
	// Listen calls the module's listener of fires; answered by CallEnded.
	Listen struct {
		Event   Event
		Instant int64
		Attempt int
		Fence   int64
		Results Results // of FireCompleted; the zero value if unknown
	}
	// EndCall ends the call of the listener.
	EndCall struct{}
	// Prepare asks for the module with the digest; answered by Prepared.
	Prepare struct{ Digest string }
	// Assign asks the job's strategy; answered by Assigned.
	Assign struct{ Request AssignRequest }
	// Reschedule sets the cron text, at first and after each change; answered by Passed
	// and, from then on, by Ticks.
	Reschedule struct{ Cron string }
	// Store passes rows to the history, with the schedules that the job has followed;
	// answered by Stored.
	Store struct {
		Rows      []Row
		Schedules []Schedule
	}
	// Wake asks for an Elapsed no later than At.
	Wake struct{ At int64 }
	// Sync follows a commit that was refused or whose outcome is unknown. The runner syncs,
	// and publishes the next view only when the mirror has settled after that. If the
	// outcome is unknown, it also reads everything again.
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
		Wrong bool // the job does not go on
		Goes  bool // with Wrong: the job goes on, but not as it should
	}
	// Stop tells that the member has left. The runner ends its job session and, with
	// Rejoin, begins again in another one. With Removed the job may be in removal: the next
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

// AssignRequest is the question to a strategy. The answer counts only while the view leads
// to the same question.
type AssignRequest struct {
	Strategy  string
	Shared    bool                // foreign members, which may know strategies that this one does not, share the job
	Instances []ID                // descending
	Labels    []map[string]string // by instance; nil for an instance without labels
	Total     int
	Previous  [][]int // by instance
	Epoch     int32   // version of the assignment that the answer replaces
}

func (p *Plan) add(e Effect) { p.Effects = append(p.Effects, e) }
