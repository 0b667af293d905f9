package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Pending is a run that waits for a taker, since its member has gone, or, with After, a
// retry that waits for the owner of its item.
type Pending struct {
	Item     int
	Entry    Entry // the run as the dead member had it; Item repeated
	After    int64 // not before; 0: it waits for a taker
	Dead     ID    // "" if the member that had it lives, or left in order
	Foreign  bool  // written by a foreign member: no run is recorded in it
	Version  int32
	Modified int64
}

// Assignment is the job's own record of ownership; its version is the epoch.
type Assignment struct {
	Exists  bool
	Version int32
	Total   int
	Members []ID    // descending
	Owners  []ID    // by item, Total of them
	Last    []int64 // by item, surplus ones kept: the last instant accounted for
	// Requested is, by item, the newest request that a member accepted for it: a later
	// owner must not accept that one again.
	Requested []int64
	// Departing are items, ascending, that the newest reshard would have moved but for
	// their open run: their owner ends it and begins none after it.
	Departing []int
	Idle
	Past // of dead members and those that left
}

// Runs is the record of one member: its open runs, and rows that are not stored yet.
// Only the member itself writes it, until it is dead.
type Runs struct {
	ID       ID
	Version  int32
	Modified int64 // revision of the last set: the fencing token of what it began
	// Views share the value, and a list of many records is copied whenever one of
	// them changes.
	*RunsData
}

// RunsData is the value of a Runs node.
type RunsData struct {
	Open      []Entry // ascending by item, one at most each
	Retries   []Retry // ascending by item, one at most each; the item may be open by another run
	Last      []int64 // by item, 0 none
	Requested []int64 // by item, 0 none: the newest request accepted for it, by the revision that wrote it
	Idle
	Past
	Triggers []Trigger
	Rows     []Row // ascending by Seq
	Seq      int64 // of the newest row ever
}

// Past is what operators see of runs; no rule uses it, except the schedules when the
// configuration's cannot be read.
type Past struct {
	Begun, Ended []int64 // by item, 0 unknown: when its newest run began, and when one ended last
	Flow         Flow
	Results      Results
	Latest       Latest
	Streaks      []Streak // ascending by item
	Tallies      []Tally  // ascending by instant; see tally.go
	// Schedules are those that the job has followed, the newest last.
	Schedules []Schedule
}

// Flow counts elements that a dataflow has handled.
type Flow struct{ Succeeded, Failed int64 }

func (f *Flow) add(o Flow) {
	f.Succeeded += o.Succeeded
	f.Failed += o.Failed
}

// Results counts how the scheduled runs of one instant ended, for the listener of the
// fire. A member counts those of its newest instant; runs that ended with their server
// are in none of the numbers.
type Results struct {
	Instant                    int64 // 0: nothing was counted
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

// resultOf counts one run.
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
	Instant   int64  // the scheduled instant; of a trigger: when it was accepted
	Trigger   string // id of the request; "" for a scheduled run
	Cause     Cause
	Attempt   int
	Uncounted int // attempts before this one that do not count against those that the job allows
	Begun     int64
	Param     string // what its guest gets in place of the job parameter; "": nothing
	First     int64  // instant of the first attempt, which its guest sees, if that is not Instant; else 0
}

// Same reports whether two entries are the same attempt of the same run.
func (e Entry) Same(o Entry) bool {
	return e.Item == o.Item && e.Instant == o.Instant && e.Trigger == o.Trigger && e.Attempt == o.Attempt
}

// Retry is a run that failed and is to be tried again.
type Retry struct {
	Entry       // the attempt to come
	After int64 // not before
}

// Trigger is an accepted request whose listed items have not begun.
type Trigger struct {
	ID    string
	At    int64
	Items []int
}

// Row is a fact about one item for the history, not stored yet.
type Row struct {
	Seq   int64
	Entry        // Item, Instant, Trigger, Cause, Attempt, Begun
	Gap   bool   // no run: the instants strictly between After and Before
	After int64  // of a gap
	Until int64  // of a gap: the first instant that is not part of it
	Cron  string // of a gap: what it is counted by; "" in records that do not say
	State RowState
	Why   reason.Reason
	Ended int64
	By    ID // the member that ran it
}

// Unended reports whether the row is of a run that had begun, and its author does not
// know when it ended.
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
	// Backfilled runs have the instant as their trigger, in ms.
	Backfilled Cause = "backfill"
	After      Cause = "after"
)

// RowState is how a run ended; the words are those of package trace.
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

// entry is the open run of the item, or nil.
func (r *RunsData) entry(i int) *Entry {
	k, ok := slices.BinarySearchFunc(r.Open, i, func(e Entry, i int) int { return e.Item - i })
	if !ok {
		return nil
	}
	return &r.Open[k]
}

func (a *Assignment) owner(i int) ID {
	if i < len(a.Owners) {
		return a.Owners[i]
	}
	return ""
}

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

func (a *Assignment) clone() Assignment {
	n := *a
	n.Members, n.Owners = slices.Clone(a.Members), slices.Clone(a.Owners)
	n.Last, n.Requested = slices.Clone(a.Last), slices.Clone(a.Requested)
	n.Begun, n.Ended = slices.Clone(a.Begun), slices.Clone(a.Ended)
	n.Departing = slices.Clone(a.Departing)
	n.Spans, n.Resumed = slices.Clone(a.Spans), slices.Clone(a.Resumed)
	return n
}

// fold keeps the newest instant and the newest request of each item.
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

// fits: the assignment was made for this total and these members.
func (a *Assignment) fits(total int, eligible []ID) bool {
	return a.Total == total && slices.Equal(a.Members, eligible)
}

func set(s []int64, i int, t int64) []int64 {
	if more := i + 1 - len(s); more > 0 {
		s = append(s, make([]int64, more)...)
	}
	s[i] = t
	return s
}

// newest writes to into the values of from that are newer than those of held. It begins
// with the last one, so that into grows once.
func newest(into, from, held []int64) []int64 {
	for i, t := range slices.Backward(from) {
		if t > at(held, i) {
			into = set(into, i, t)
		}
	}
	return into
}

// row appends a row under the next number.
func (r *RunsData) row(row Row) {
	r.Seq++
	row.Seq = r.Seq
	r.Rows = append(r.Rows, row)
}

func (r *RunsData) rows(rows []Row) {
	for _, row := range rows {
		r.row(row)
	}
}

// skipped is the row of an item that the request does not run.
func (t *Trigger) skipped(i int, why reason.Code, now int64, by ID) Row {
	e := Entry{Item: i, Instant: t.At, Trigger: t.ID, Cause: Triggered, Attempt: 1}
	return Row{Entry: e, State: Skipped, Why: reason.Of(why), Ended: now, By: by}
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
