package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// ID names a member of the job.
type ID = job.InstanceID

// View is one moment of the job's nodes as layout decoded them. It is never changed once
// published; the next one is a new value. Times are Unix milliseconds, revisions those
// of the registry.
type View struct {
	Rev int64 // counts the views that differ

	Exists  bool // the job's own node is there
	Parents Parents
	// Nodes are those that exist of which only the layout asks, for its transactions. It
	// numbers them.
	Nodes  NodeSet
	Config *Config // nil: there is none
	// ConfigFault is why config, or the module's node, cannot be read; nothing
	// begins then.
	ConfigFault   string
	ConfigVersion Version
	// ConfigModified is the revision of its last set.
	ConfigModified int64
	// HasModule: the module's node is there, so a server of ours has defined the job.
	HasModule     bool
	ModuleVersion Version
	Definition    Definition // what the two nodes hold, also what cannot be read
	Next          string     // digest of the module that is to take the place of the one that runs; "": none
	// RecordFault is why a record of ours cannot be read; nothing at all is
	// decided then.
	RecordFault string
	// Faults are what is wrong with nodes of the job, those two included: each begins
	// with a path, and names what was expected there.
	Faults []reason.Reason
	Paused bool

	Leader        ID // "" if there is none
	LeaderOwner   int64
	LeaderVersion int32 // it distinguishes a leader of ours from a foreign one
	// ElectionLatch and FailoverLatch are the queues, in order.
	ElectionLatch, FailoverLatch []Contender
	Instances                    []Instance // descending by id, as ElasticJob lists them
	Ghosts                       []ID       // nodes of instances that no session holds; they are ignored
	Members                      []Member   // ascending by id
	Joins                        int32      // raised by each Join of a member of ours
	Servers                      []Server   // ascending by address

	Items           []Item // by number; as many as the largest node says
	Necessary       bool
	NecessaryV      int32 // version of the mark: each Join raises it or creates it
	Processing      bool
	ProcessingOwner int64 // session
	// Sealed: no foreign leader has begun to assign since one of ours adopted the last
	// assignment.
	Sealed  bool
	Pending []Pending // ascending by item

	Assignment Assignment
	Fires      Fires
	Guarantee  Guarantee
	Runs       []Runs // ascending by id
	Went
}

// Config is what the protocol reads of the job's configuration.
type Config struct {
	Total            int
	Cron             string
	Strategy         string
	Failover         bool
	Misfire          bool
	MonitorExecution bool
	Disabled         bool
	ReconcileEvery   int64 // ms, 0 is off
	MaxSkew          int64 // ms by which a member's clock may differ from the registry's; 0: any
}

// Instance is a member as it registers itself for sharding, ours or a foreign one.
type Instance struct {
	ID      ID
	Owner   int64 // session
	Version int32
	Request int64 // revision of the trigger that waits there; 0: none does
}

// Member is a live member of ours.
type Member struct {
	ID     ID
	Owner  int64
	Labels map[string]string // of its server, for strategies
	// Address is where its server gives modules to others; empty: nowhere.
	Address string
	// Defines: its server's own file has the job, and makes it again when it is gone.
	Defines bool
	Ready   Ready // how far it is with the next module
}

// Server is an operator's word about one address.
type Server struct {
	IP       string
	Disabled bool
	Version  int32
	Occupied bool // something that is not ours is below it
}

// Item is one sharding item as the classical nodes show it.
type Item struct {
	Exists   bool
	Owner    ID // "" when unassigned
	OwnerVer int32
	Running  int64 // session of the member that runs it, as its running mark says; 0: none does
	// Abandoned: the item has such a mark, and no member runs it.
	Abandoned    bool
	Misfire      bool
	Disabled     bool
	Failover     ID    // the member that took the item; "" if none did
	TakerSession int64 // session of that mark
	Marks        int32 // running marks observed so far; a lower bound, since events can coalesce
}

// Marked reports whether the item has a running mark.
func (it Item) Marked() bool { return it.Running != 0 || it.Abandoned }

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

// results is what members have counted for an instant, the zero value if one of them
// counts for a later instant already.
func (v *View) results(at int64) Results {
	sum := Results{Instant: at}
	all := []Results{v.Assignment.Results}
	for k := range v.Runs {
		all = append(all, v.Runs[k].Results)
	}
	for _, t := range all {
		if t.Instant > at {
			return Results{}
		}
		if t.Instant == at {
			sum.add(t)
		}
	}
	return sum
}

// Past is what the registry holds of the job's runs, of all members.
func (v *View) Past() Past {
	a := v.Assignment.clone()
	for k := range v.Runs {
		a.fold(v.Runs[k].RunsData)
		a.Flow.add(v.Runs[k].Flow)
	}
	return a.Past
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

func (v *View) total() int {
	if v.Config == nil {
		return 0
	}
	return v.Config.Total
}

func (v *View) item(i int) Item {
	if i >= 0 && i < len(v.Items) {
		return v.Items[i]
	}
	return Item{}
}

func (v *View) instance(id ID) *Instance {
	for k := range v.Instances {
		if v.Instances[k].ID == id {
			return &v.Instances[k]
		}
	}
	return nil
}

func (v *View) member(id ID) bool {
	k := search(len(v.Members), func(k int) bool { return v.Members[k].ID >= id })
	return k < len(v.Members) && v.Members[k].ID == id
}

// memberOf reports whether the session holds the node of the member.
func (v *View) memberOf(id ID, session int64) bool {
	k, ok := slices.BinarySearchFunc(v.Members, id, func(m Member, id ID) int { return compare(m.ID, id) })
	return ok && v.Members[k].Owner == session
}

// labels are those of a member's server; nil for a foreign member.
func (v *View) labels(id ID) map[string]string {
	k, ok := slices.BinarySearchFunc(v.Members, id, func(m Member, id ID) int { return compare(m.ID, id) })
	if !ok {
		return nil
	}
	return v.Members[k].Labels
}

// ServerDisabled reports whether an operator has disabled the server at the address of
// the member.
func (v *View) ServerDisabled(id ID) bool { return v.serverDisabled(id.IP()) }

// dead: neither registered for sharding nor alive. An operator may delete the node in
// instances while the member still runs; its own node in members, which its session
// holds, shows that it does.
func (v *View) dead(id ID) bool { return v.instance(id) == nil && !v.member(id) }

func (v *View) runs(id ID) *Runs {
	k := search(len(v.Runs), func(k int) bool { return v.Runs[k].ID >= id })
	if k == len(v.Runs) || v.Runs[k].ID != id {
		return nil
	}
	return &v.Runs[k]
}

func (v *View) serverDisabled(ip string) bool {
	k, ok := slices.BinarySearchFunc(v.Servers, ip, func(s Server, ip string) int { return compare(s.IP, ip) })
	return ok && v.Servers[k].Disabled
}

func (v *View) hasServer(ip string) bool {
	_, ok := slices.BinarySearchFunc(v.Servers, ip, func(s Server, ip string) int { return compare(s.IP, ip) })
	return ok
}

func (v *View) pending(i int) *Pending {
	k, ok := slices.BinarySearchFunc(v.Pending, i, func(p Pending, i int) int { return p.Item - i })
	if !ok {
		return nil
	}
	return &v.Pending[k]
}

// eligible lists the instances that may own items, descending: live and on a
// server that no operator disabled.
func (v *View) eligible() []ID {
	ids := make([]ID, 0, len(v.Instances))
	for _, in := range v.Instances {
		if !v.serverDisabled(in.ID.IP()) {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// last is the newest instant of the item that is accounted for.
func (v *View) last(i int) int64 {
	t := at(v.Assignment.Last, i)
	for k := range v.Runs {
		t = max(t, at(v.Runs[k].Last, i))
	}
	return t
}

// resumed is the newest instant that began after a clock had been set back.
func (v *View) resumed(i int) int64 {
	t := at(v.Assignment.Resumed, i)
	for k := range v.Runs {
		t = max(t, at(v.Runs[k].Resumed, i))
	}
	return t
}

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
