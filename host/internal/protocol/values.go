package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Pending is a run that waits for a taker, because its member is dead. With After it is a
// retry that waits for its item's owner.
type Pending struct {
	Item     int
	Entry    Entry // the run as its former member had it; it has Item as well
	After    int64 // it must not begin before; 0: it waits for a taker
	Dead     ID    // the dead member; "": the member lives, or left in order
	Foreign  bool  // a foreign member wrote the node, which has no run in it
	Version  int32
	Modified int64
}

// Assignment is the job's own record of owners; its version is the epoch.
type Assignment struct {
	Exists  bool
	Version int32
	Total   int
	Members []ID    // descending
	Owners  []ID    // by item, Total of them
	Last    []int64 // by item, also beyond the total: the newest instant accounted for
	// Requested is, by item, the newest request that a member accepted for it. A later
	// owner must not accept it again.
	Requested []int64
	// Departing lists items, ascending, that the newest reshard would have moved but for
	// their open run. Their owner ends that run and begins none after it.
	Departing []int
	Idle
	Past // of dead members, and of those that left
}

// Runs is the record of one member: its open runs, and rows that are not stored yet. Until
// the member is dead, only it writes the record.
type Runs struct {
	ID       ID
	Version  int32
	Modified int64 // revision of the last write: the fencing token of what it began
	// Views share the value, since a list of many records is copied whenever one of them
	// changes.
	*RunsData
}

// RunsData is the value of a Runs node.
type RunsData struct {
	Open      []Entry // ascending by item, at most one each
	Retries   []Retry // ascending by item, at most one each; another run of the item may be open
	Last      []int64 // by item: the newest instant accounted for; 0: none
	Requested []int64 // by item: the newest request accepted for it, by the revision that wrote it; 0: none
	Idle
	Past
	Triggers []Trigger
	Rows     []Row // ascending by Seq
	Seq      int64 // Seq of the newest row ever
}

// Past is what operators see of runs. Rules use only the schedules, for rows of gaps and while
// the configuration's cannot be read, and a member its own Begun while a foreign leader waits.
// Jobs that run after this one use the tallies.
type Past struct {
	Begun, Ended []int64 // by item: when its newest run began, and when one last ended; 0: unknown
	Flow         Flow
	Results      Results
	Latest       Latest
	Streaks      []Streak // ascending by item
	Tallies      []Tally  // ascending by instant; see tally.go
	// Schedules are those that the job has followed, the newest last.
	Schedules []Schedule
}

// Flow counts the elements that a dataflow has handled.
type Flow struct{ Succeeded, Failed int64 }

func (f *Flow) add(o Flow) {
	f.Succeeded += o.Succeeded
	f.Failed += o.Failed
}

// Results counts how the scheduled runs of one instant ended, for the listener of the fire.
// A member counts those of its newest instant. Runs that ended with their server are not
// counted.
type Results struct {
	Instant                    int64 // 0: nothing is counted
	Succeeded, Failed, Skipped int
}

// add adds results of the same instant; a newer instant replaces them.
func (t *Results) add(o Results) {
	switch {
	case o.Instant > t.Instant:
		*t = o
	case o.Instant == t.Instant:
		t.Succeeded, t.Failed, t.Skipped = t.Succeeded+o.Succeeded, t.Failed+o.Failed, t.Skipped+o.Skipped
	}
}

// resultOf counts one run of an instant. A run by trigger has none, so it counts nothing.
func resultOf(e Entry, state RowState) Results {
	t := Results{Instant: e.Instant}
	switch {
	case e.Trigger != "":
		return Results{}
	case state == Succeeded:
		t.Succeeded = 1
	case state == Skipped:
		t.Skipped = 1
	default:
		t.Failed = 1
	}
	return t
}

// Entry is an open run.
type Entry struct {
	Item      int
	Instant   int64  // the scheduled instant, or when the trigger was accepted
	Trigger   string // id of the request; "" for a scheduled run
	Cause     Cause
	Attempt   int
	Uncounted int // how many of the attempts before this one do not count against the job's limit
	Begun     int64
	Param     string // the guest's parameter in place of the job's; "": the job's
	First     int64  // the first attempt's instant, which the guest sees, if that is not Instant; else 0
}

// Same reports whether two entries are the same attempt of the same run.
func (e Entry) Same(o Entry) bool {
	return e.Item == o.Item && e.Instant == o.Instant && e.Trigger == o.Trigger && e.Attempt == o.Attempt
}

// Retry is a run that failed and waits for its next attempt.
type Retry struct {
	Entry       // the next attempt
	After int64 // it must not begin before
}

// Trigger is an accepted request, with the items that have not begun for it.
type Trigger struct {
	ID    string
	At    int64
	Items []int
}

// Row is an entry of the history about one item that is not stored yet.
type Row struct {
	Seq   int64
	Entry        // Item, Instant, Trigger, Cause, Attempt, Begun
	Gap   bool   // not a run, but the instants strictly between After and Until
	After int64  // of a gap
	Until int64  // of a gap: the first instant after it
	Cron  string // of a gap: the cron that its instants come from; "" in records that do not have it
	State RowState
	Why   reason.Reason
	Ended int64
	By    ID // the member that ran it
}

// Unended reports whether the row is of a run that had begun, and whose end its author does
// not know.
func (r *Row) Unended() bool {
	return r.Begun != 0 && (r.State == TakenOver || r.State == Interrupted || r.State == Lost)
}

// Cause is why a run began.
type Cause string

const (
	Scheduled Cause = "schedule"
	Misfired  Cause = "misfire"
	Failover  Cause = "failover"
	CaughtUp  Cause = "catch_up"
	Triggered Cause = "trigger"
	// Backfilled runs have their instant as trigger, in ms.
	Backfilled Cause = "backfill"
	After      Cause = "after"
)

// RowState is how a run ended; package trace has the same words.
type RowState string

const (
	Succeeded   RowState = "succeeded"
	Failed      RowState = "failed"
	TimedOut    RowState = "timed_out"
	Cancelled   RowState = "cancelled"
	Skipped     RowState = "skipped"
	Missed      RowState = "missed"
	TakenOver   RowState = "taken_over"
	Interrupted RowState = "interrupted"
	Lost        RowState = "lost"
	Retried     RowState = "retried"
)

// entry returns the item's open run, or nil.
func (r *RunsData) entry(i int) *Entry {
	k, ok := slices.BinarySearchFunc(r.Open, i, func(e Entry, i int) int { return e.Item - i })
	if !ok {
		return nil
	}
	return &r.Open[k]
}

// owner is the member to which the assignment gives the item; "" if none.
func (a *Assignment) owner(i int) ID {
	if i < len(a.Owners) {
		return a.Owners[i]
	}
	return ""
}

// at is the value of item i in a list by item; 0 if the list is shorter.
func at(s []int64, i int) int64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func compare[S ~string](a, b S) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// clone copies what a mutation changes in place. Other lists are replaced as a whole, so they
// may be shared with the view.
func (a *Assignment) clone() Assignment {
	n := *a
	n.Members, n.Owners = slices.Clone(a.Members), slices.Clone(a.Owners)
	n.Last, n.Requested = slices.Clone(a.Last), slices.Clone(a.Requested)
	n.Begun, n.Ended = slices.Clone(a.Begun), slices.Clone(a.Ended)
	n.Departing = slices.Clone(a.Departing)
	n.Spans, n.Resumed = slices.Clone(a.Spans), slices.Clone(a.Resumed)
	return n
}

// fold merges a record into the assignment: of each item, the newest instant, request and
// times count. Counts, such as Flow and Results, are left out: they are added only when the
// record goes.
func (a *Assignment) fold(d *RunsData) {
	a.Last = newest(a.Last, d.Last, a.Last)
	a.Requested = newest(a.Requested, d.Requested, a.Requested)
	a.Resumed = newest(a.Resumed, d.Resumed, a.Resumed)
	a.Unattended = max(a.Unattended, d.Unattended)
	for _, span := range d.Spans {
		a.idle(span)
	}
	a.Begun = newest(a.Begun, d.Begun, a.Begun)
	a.Ended = newest(a.Ended, d.Ended, a.Ended)
	a.Latest.add(d.Latest)
	a.Streaks = foldStreaks(a.Streaks, d.Streaks)
}

// fits reports whether the assignment was made for this total and these members.
func (a *Assignment) fits(total int, eligible []ID) bool {
	return a.Total == total && slices.Equal(a.Members, eligible)
}

// set sets the value of item i in a list by item, which grows if need be.
func set(s []int64, i int, t int64) []int64 {
	if more := i + 1 - len(s); more > 0 {
		s = append(s, make([]int64, more)...)
	}
	s[i] = t
	return s
}

// newest writes to into those values of from that are newer than the same item's in held. It
// begins with the last one, so into grows once.
func newest(into, from, held []int64) []int64 {
	for i, t := range slices.Backward(from) {
		if t > at(held, i) {
			into = set(into, i, t)
		}
	}
	return into
}

// row appends a row with the next number.
func (r *RunsData) row(row Row) {
	r.Seq++
	row.Seq = r.Seq
	r.Rows = append(r.Rows, row)
}

// rows appends rows with the next numbers.
func (r *RunsData) rows(rows []Row) {
	for _, row := range rows {
		r.row(row)
	}
}

// skipped returns the row of an item that the request does not run.
func (t *Trigger) skipped(i int, why reason.Code, now int64, by ID) Row {
	e := Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1}
	return Row{Entry: e, State: Skipped, Why: reason.Of(why), Ended: now, By: by}
}

// indexes lists the numbers from 0 to n-1.
func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
