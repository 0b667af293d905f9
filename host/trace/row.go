// Package trace records what happened: one Row for every fire of every item, and the port to
// the store of rows. It is not for logs (log/slog), and decides nothing; the protocol core
// decides that a row exists.
//
// Flow: the runner makes Rows from facts of the core and passes them in batches to a Sink. Once
// the Sink has returned, the rows are safe and leave the registry.
package trace

import (
	"context"
	"errors"

	"github.com/wasmjob/wasmjob/host/reason"
)

// State says how a run ended, or why there was none.
type State string

const (
	Running     State = "running"     // in live events only, never stored
	Succeeded   State = "succeeded"   // the guest returned 0
	Failed      State = "failed"      // guest error, trap, limit
	TimedOut    State = "timed_out"   // ended at its deadline
	Cancelled   State = "cancelled"   // ended by an operator, a shutdown or self-fencing
	Skipped     State = "skipped"     // the guest had nothing to do, or overlap, or disabled
	Missed      State = "missed"      // no run began at these instants
	TakenOver   State = "taken_over"  // the server was gone; a later attempt has its own row
	Interrupted State = "interrupted" // the server died, and no other server ran it again
	Lost        State = "lost"        // the server died; it is unknown whether the run took place
	Retried     State = "retried"     // this attempt ended; a later attempt has its own row
)

// States returns the states of stored rows.
func States() []State {
	return []State{Succeeded, Failed, TimedOut, Cancelled, Skipped, Missed, TakenOver, Interrupted, Lost, Retried}
}

// Final reports whether no later attempt of the same run follows.
func (s State) Final() bool { return s != TakenOver && s != Retried && s != Running }

// Cause says why a run began.
type Cause string

const (
	Schedule Cause = "schedule"
	Misfire  Cause = "misfire"
	Failover Cause = "failover"
	Trigger  Cause = "trigger"
	CatchUp  Cause = "catch_up" // the instant was missed while no server was there, and began late
	After    Cause = "after"    // the jobs that this job runs after have ended well
	Retry    Cause = "retry"    // an operator had a run that had ended tried again, under its own id
	Backfill Cause = "backfill" // an operator had a past instant run, under its own id
)

// Causes returns all causes.
func Causes() []Cause {
	return []Cause{Schedule, Misfire, Failover, Trigger, CatchUp, After, Retry, Backfill}
}

// Row is one attempt of one run of one item, or one gap of instants at which the item was not
// run. Times are Unix milliseconds; 0 is unknown.
//
// (Job, Item, Run, Attempt) identifies a row. For a scheduled run, Run is the decimal Instant.
// For a trigger it is the request's id, and Instant is when the request was accepted. A gap row
// (Count > 0) covers the Count scheduled instants from Instant through Last; its Run is
// "gap-<Instant>", its Attempt 0.
type Row struct {
	Job     string
	Item    int
	Run     string
	Attempt int
	Instant int64
	Last    int64
	Count   int64

	// Param is the parameter that the run got instead of the job's; empty: none.
	Param string

	// Schedule is the cron expression from which Instant and Last come. It is empty for a
	// trigger, and in rows of older releases.
	Schedule string

	Cause    Cause
	State    State
	Reason   reason.Reason // why skipped, missed, cancelled …
	Instance string
	TaskID   string
	Start    int64
	End      int64
	Result   string
	Error    string
	Code     int32  // what the entry returned, or the exit code of a script
	HasCode  bool   // distinguishes 0 from none: a run that trapped, was ended or timed out has no code
	Digest   string // sha256 of the module, hex
	Fence    int64  // fencing token of the run

	Fuel              int64  // units of the meter that the guest used
	Succeeded, Failed int64  // elements of a dataflow job
	Metrics           string // sums that the guest added up, as a JSON object; empty: none

	// Log is the end of the guest's log: lines with the time since Start, level and text.
	// HasLog distinguishes an empty log from one that was not kept.
	Log    string
	HasLog bool
}

// ErrRow says that a row can never be stored, so trying again does not help.
var ErrRow = errors.New("row cannot be stored")

// Sink stores rows.
type Sink interface {
	// Write returns nil when the whole batch is durable. Rows may be written again after a
	// crash or an error. A row that is already stored stays as it is, even if the new one says
	// that the attempt ended otherwise; only a TakenOver row may take the state and reason of a
	// new row whose state is final. An error that is ErrRow says that some row of the batch can
	// never be stored; write the rows one by one to find out which.
	Write(ctx context.Context, batch []Row) error
}
