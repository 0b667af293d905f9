package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// Input is something that happened to one member's share of one job.
//
//sumtype:decl
type Input interface{ input() }

type (
	// Observed: the mirror settled. The runner says so whenever a view differs
	// from the one before, and after every Committed.
	Observed struct{ View *View }
	// Tick: the scheduled instant At is due. Prev is the instant right before
	// it in the schedule, 0 if that is not known.
	Tick struct{ At, Prev int64 }
	// Passed: At is the newest instant that had come when the schedule was
	// set. Nothing begins for it; it tells that older ones are overtaken.
	Passed struct{ At int64 }
	// Committed answers Plan.ID. Of an applied mutation, Revision is known.
	Committed struct {
		Plan     int64
		Outcome  Outcome
		Revision int64
		// Occupied is why a Reshard or a part of it was refused, if it is why: the
		// item, one of its Remove, whose node holds what is not ours. It counts
		// from 1; 0 is none.
		Occupied int
		// TooLarge: it was refused because the registry takes smaller ones only.
		TooLarge bool
	}
	// Finished: guests ended, in this order.
	Finished []End
	// End is how the guest of an entry ended. It is no input itself.
	End struct {
		Entry Entry
		State RowState
		Why   reason.Reason
		Flow  Flow
		Asked bool // it failed, and the guest asks for another attempt
	}
	// CallEnded: the call that an effect Listen asked for has ended, however.
	CallEnded struct {
		Event   Event
		Instant int64
		Attempt int
	}
	// Assigned answers the effect Assign.
	Assigned struct {
		Request AssignRequest
		Items   [][]int // by index of the instance
		Fault   string
	}
	// Stored: the history has made the rows up to number Upto durable; the
	// record need not hold them any longer.
	Stored struct{ Upto int64 }
	// Doubted tells how much of the session time-out passed since the last
	// acknowledged request was sent.
	Doubted struct{ Level Doubt }
	// ReadOnly: the registry takes no writes. It holds until the next Observed.
	ReadOnly struct{}
	// Measured tells by how many ms the member's clock is ahead of the registry's,
	// or, negative, behind; what the measuring itself may have added is left out.
	Measured struct{ Skew int64 }
	// Asked is an operator's or the host's wish.
	Asked struct {
		ID  int64
		Ask Ask
	}
	// Unasked: whoever asked waits no longer. A wish that is not yet a commit is
	// forgotten.
	Unasked struct{ ID int64 }
	// Prepared answers Prepare.
	Prepared struct{ Ready }
	// Elapsed: time passed; an earlier Wake asked for it.
	Elapsed struct{}
	// SessionLost: this member is over. Its guests are to be ended.
	SessionLost struct{}
)

func (Observed) input()    {}
func (Tick) input()        {}
func (Passed) input()      {}
func (Committed) input()   {}
func (ReadOnly) input()    {}
func (Finished) input()    {}
func (CallEnded) input()   {}
func (Assigned) input()    {}
func (Stored) input()      {}
func (Doubted) input()     {}
func (Measured) input()    {}
func (Asked) input()       {}
func (Unasked) input()     {}
func (Prepared) input()    {}
func (Elapsed) input()     {}
func (SessionLost) input() {}

// Outcome of a commit.
type Outcome uint8

const (
	Applied Outcome = iota + 1
	Refused
	// Unknown: it may be applied now, later or never. The view that settles
	// it must be read after a sync.
	Unknown
)

// Doubt grows while the registry does not answer.
type Doubt uint8

const (
	// Trusted: the session is ours.
	Trusted Doubt = iota
	// Doubtful: half of the time-out is gone; nothing starts, guests are
	// asked to stop.
	Doubtful
	// Expired: three quarters are gone; the last guest is ended.
	Expired
)

// Ask is what an operator may want of a job.
//
//sumtype:decl
type Ask interface{ ask() }

type (
	// AskTrigger wants every instance to run its items now.
	AskTrigger struct{}
	// AskPause stops or resumes scheduled runs.
	AskPause struct{ Paused bool }
	// AskItem disables or enables one item.
	AskItem struct {
		Item     int
		Disabled bool
	}
	// AskServer disables or enables one server.
	AskServer struct {
		IP       string
		Disabled bool
	}
	// AskConfig writes the whole configuration, derived from the one of version
	// Have.
	AskConfig struct {
		Config Spelled
		Have   Version
	}
	// AskDefine writes configuration and module, derived from those of the
	// versions Have and HaveModule.
	AskDefine struct {
		Definition
		Have, HaveModule Version
	}
	// AskReshard wants the items assigned anew.
	AskReshard struct{}
	// AskLeave ends this member: nothing new begins.
	AskLeave struct{}
)

func (AskTrigger) ask() {}
func (AskPause) ask()   {}
func (AskItem) ask()    {}
func (AskServer) ask()  {}
func (AskConfig) ask()  {}
func (AskDefine) ask()  {}
func (AskReshard) ask() {}
func (AskLeave) ask()   {}

// Plan is what one Step decided.
type Plan struct {
	// ID numbers plans with a Commit; the answer Committed carries it.
	ID      int64
	Commit  Mutation // nil: nothing to commit
	Effects []Effect
}

// Mutation is one transaction, all or nothing, named by what it means. The
// versions it checks are those of the view that it was decided on, which is
// passed to layout beside it.
//
//sumtype:decl
type Mutation interface {
	Name() string
	mutation()
}

type (
	// Setup creates the job's parent nodes and, if there is no config, what the
	// job is: config and, unless it is there, the module's node.
	Setup struct{ Definition }
	// Join registers a member.
	Join struct {
		ID       ID
		Disabled bool // value of the server's node if it is absent
		Labels   map[string]string
		Address  string
		Defines  bool
		// Unattended is the moment, if nobody is there who could have begun what came due
		// until then, and somebody wants to know.
		Unattended int64
	}
	// SetServer re-creates the own server's node, which a clean-up took.
	SetServer struct{ IP string }
	// PruneServers deletes nodes of servers that have long been without instance.
	PruneServers struct{ IPs []string }
	// Contend queues at a latch.
	Contend struct {
		Latch Latch
		Token string
	}
	// Withdraw gives a place in the queue up.
	Withdraw struct {
		Latch Latch
		Place string
	}
	// Elect makes the member leader, and gives up its place in the queue.
	Elect struct {
		ID    ID
		Place string
	}
	// Abdicate gives leadership up. It sets the own record, so that a write
	// that is carried out late does not end the lead of a successor.
	Abdicate struct {
		Self ID
		Own  RunsData
	}
	// MarkReshard asks the leader to reshard.
	MarkReshard struct{}
	// Reshard assigns every item. With Parts it writes none of the items' nodes,
	// and leaves the mark: so many do not fit into one transaction. Owners follow.
	Reshard struct {
		Check  []ID // live members of ours whose runs must not have changed
		Moving []ID // members that lose or get items, whose instances must not have changed
		Next   Assignment
		Self   ID // the leader, if it writes rows; else ""
		Own    RunsData
		Remove []int // surplus items whose nodes go
		Clear  []int // surplus items whose nodes cannot go: what is ours below them does
		Parts  bool
		// Pause: Owners follow after a pause, and anew make the nodes of the owners
		// of Strip, which go now.
		Pause bool
		Strip []int
	}
	// Adopt makes the assignment of what a foreign leader has assigned, and
	// seals that.
	Adopt struct {
		Check  []ID  // as of Reshard, as are Moving, Self and Own
		Items  []int // whose owners' nodes must not have changed
		Next   Assignment
		Moving []ID
		Self   ID
		Own    RunsData
	}
	// ClearProcessing deletes the mark of a reshard that the member began and no longer
	// leads.
	ClearProcessing struct{}
	// Owners brings items' nodes in line with the assignment that a Reshard with
	// Parts has set; the Last of them takes the mark away.
	Owners struct {
		Write         []int // items whose node, or whose owner's, is not as it should be
		Remove, Clear []int // as of Reshard
		Strip         []int // as of Reshard; there is nothing else then
		Last          bool
	}
	// Begin opens runs of own items; Ack acknowledges the trigger request. With
	// More, further ones wait for the next transaction.
	Begin struct {
		Self    ID
		Own     RunsData
		Begun   []int // items that begin
		Monitor bool  // they get a running mark
		Unmark  []int // misfire marks to clear
		Unpend  []int // overtaken pending marks
		Ack     bool
		More    bool
		Shared  bool // owners' nodes, and the seal, must not have changed: foreign members share the job
	}
	// Complete closes runs whose guests ended.
	Complete struct {
		Self  ID
		Own   RunsData
		Items []int
	}
	// Again opens the next attempt of runs that self-fencing ended.
	Again struct {
		Self ID
		Own  RunsData
	}
	// Forget drops stored rows.
	Forget struct {
		Self ID
		Own  RunsData
	}
	// RecordMissed puts rows of a job that no server runs into the record of one who
	// is gone, which it makes if there is none.
	RecordMissed struct {
		ID  ID
		Own RunsData
	}
	// RecordTaken writes rows of runs that foreign members have taken over.
	RecordTaken struct {
		Self ID
		Own  RunsData
	}
	// Account writes rows that no other mutation carries: triggers that can
	// no longer run. What is to be tried again elsewhere becomes pending, in a new
	// epoch: a take of the attempt before, still on its way, finds a node of the
	// same name.
	Account struct {
		Self ID
		Own  RunsData
		Pend []Pending
		Next *Assignment // nil if nothing becomes pending
	}
	// MarkMisfire marks running items whose next instant came.
	MarkMisfire struct{ Items []int }
	// ClearMarks removes own marks that no open run justifies, and, if nobody of
	// Check has set its record, those that no session holds, and those of what
	// foreign members took over and will not run.
	ClearMarks struct {
		Self              ID
		Check             []ID
		Running, Failover []int
	}
	// Reclaim ends a dead member's record, or the part of it that fits into one
	// transaction: Rest is what remains then.
	Reclaim struct {
		Self ID
		Dead ID
		Own  RunsData
		Next Assignment
		Pend []Pending
		// Check: owners of the pending items, whose runs must not have changed.
		Check []ID
		Rest  *RunsData // nil: the record goes
	}
	// ReclaimForeign makes pending, or gives a row to, what foreign members had open
	// when they died.
	ReclaimForeign struct {
		Self  ID
		Own   RunsData
		Next  Assignment
		Pend  []Pending
		Check []ID // all others who have a record
	}
	// Take begins runs that wait for a taker, and gives up the place in the queue, if there is one.
	Take struct {
		Self    ID
		Own     RunsData
		Items   []int
		Monitor bool
		Place   string
	}
	// JoinRound makes the member's nodes of a round. With Last the round is full, and
	// the member is to end it, with Next after a call of its listener.
	JoinRound struct {
		Self  ID
		Event Event
		Items []int
		Last  bool
		Next  *Fires
	}
	// Release ends a round, so that foreign members go on.
	Release struct{ Event Event }
	// SetFires writes how far the listeners of fires have been told.
	SetFires struct {
		Self ID
		Next Fires
	}
	// Drop gives up pending runs: nobody may take them any more.
	Drop struct {
		Self  ID
		Own   RunsData
		Items []int
	}
	// Leave ends the membership. Where foreign members listen, the owners'
	// nodes of Items, which name the member, go as well.
	Leave struct {
		Self     ID
		Next     Assignment
		Listened bool
		Items    []int
	}
	// Disown takes the owners' nodes of items away before a Leave.
	Disown struct{ Items []int }
	// RequestTrigger writes the request to every instance.
	RequestTrigger struct{ To []ID }
	// SetPaused stops or resumes scheduled runs.
	SetPaused struct{ Paused bool }
	// DisableItem disables or enables one item.
	DisableItem struct {
		Item     int
		Disabled bool
	}
	// DisableServer disables or enables one server.
	DisableServer struct {
		IP       string
		Disabled bool
	}
	// PutConfig replaces the configuration.
	PutConfig struct{ Config Spelled }
	// Define replaces what a job is. A part that is nil stays as it is, and is
	// only checked: the other was derived from it.
	Define struct{ Definition }
	// Publish tells in the member's own node how far it is with the next module.
	Publish struct {
		Member Join // what else stands there
		Ready  Ready
	}
	// Switch puts the next module in the place of the old one.
	Switch struct{ Digest string }
)

func (Setup) Name() string           { return "setup" }
func (Join) Name() string            { return "join" }
func (SetServer) Name() string       { return "set-server" }
func (PruneServers) Name() string    { return "prune-servers" }
func (Contend) Name() string         { return "contend" }
func (Withdraw) Name() string        { return "withdraw" }
func (Elect) Name() string           { return "elect" }
func (Abdicate) Name() string        { return "abdicate" }
func (MarkReshard) Name() string     { return "mark-reshard" }
func (Reshard) Name() string         { return "reshard" }
func (Owners) Name() string          { return "owners" }
func (Adopt) Name() string           { return "adopt" }
func (ClearProcessing) Name() string { return "clear-processing" }
func (Begin) Name() string           { return "begin" }
func (Complete) Name() string        { return "complete" }
func (Again) Name() string           { return "again" }
func (Forget) Name() string          { return "forget" }
func (RecordMissed) Name() string    { return "record-missed" }
func (RecordTaken) Name() string     { return "record-taken" }
func (Account) Name() string         { return "account" }
func (MarkMisfire) Name() string     { return "mark-misfire" }
func (ClearMarks) Name() string      { return "clear-marks" }
func (Reclaim) Name() string         { return "reclaim" }
func (ReclaimForeign) Name() string  { return "reclaim-foreign" }
func (Take) Name() string            { return "take" }
func (JoinRound) Name() string       { return "join-round" }
func (Release) Name() string         { return "release" }
func (SetFires) Name() string        { return "set-fires" }
func (Drop) Name() string            { return "drop" }
func (Leave) Name() string           { return "leave" }
func (Disown) Name() string          { return "disown" }
func (RequestTrigger) Name() string  { return "request-trigger" }
func (SetPaused) Name() string       { return "set-paused" }
func (DisableItem) Name() string     { return "disable-item" }
func (DisableServer) Name() string   { return "disable-server" }
func (PutConfig) Name() string       { return "put-config" }
func (Define) Name() string          { return "define" }
func (Publish) Name() string         { return "publish" }
func (Switch) Name() string          { return "switch" }

func (Setup) mutation()           {}
func (Join) mutation()            {}
func (SetServer) mutation()       {}
func (PruneServers) mutation()    {}
func (Contend) mutation()         {}
func (Withdraw) mutation()        {}
func (Elect) mutation()           {}
func (Abdicate) mutation()        {}
func (MarkReshard) mutation()     {}
func (Reshard) mutation()         {}
func (Owners) mutation()          {}
func (Adopt) mutation()           {}
func (ClearProcessing) mutation() {}
func (Begin) mutation()           {}
func (Complete) mutation()        {}
func (Again) mutation()           {}
func (Forget) mutation()          {}
func (RecordMissed) mutation()    {}
func (RecordTaken) mutation()     {}
func (Account) mutation()         {}
func (MarkMisfire) mutation()     {}
func (ClearMarks) mutation()      {}
func (Reclaim) mutation()         {}
func (ReclaimForeign) mutation()  {}
func (Take) mutation()            {}
func (JoinRound) mutation()       {}
func (Release) mutation()         {}
func (SetFires) mutation()        {}
func (Drop) mutation()            {}
func (Leave) mutation()           {}
func (Disown) mutation()          {}
func (RequestTrigger) mutation()  {}
func (SetPaused) mutation()       {}
func (DisableItem) mutation()     {}
func (DisableServer) mutation()   {}
func (PutConfig) mutation()       {}
func (Define) mutation()          {}
func (Publish) mutation()         {}
func (Switch) mutation()          {}

// Effect is something the runner does without a commit.
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
	// Drain: the member leaves, and its guests may go on for as long as at a stop of
	// the server.
	Drain struct{ Why reason.Reason }
	// Listen calls the module's listener of fires; answered by Told.
	Listen struct {
		Event   Event
		Instant int64
		Attempt int
		Fence   int64
		Results Results // of FireCompleted; the zero value if it is not known
	}
	// Hush ends that call.
	Hush struct{}
	// Prepare: the module with the digest is wanted here. Answered by Prepared.
	Prepare struct{ Digest string }
	// Assign asks the job's strategy; answered by Assigned.
	Assign struct{ Request AssignRequest }
	// Reschedule: the cron text changed (also the first one). Answered by
	// Passed and, from then on, by Ticks.
	Reschedule struct{ Cron string }
	// Store hands rows to the history, with the schedules by which the job went;
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
	// Note is a line for the log, written for whoever runs the server.
	Note struct {
		Why   reason.Reason
		Wrong bool // it keeps the job from going on
		Goes  bool // … as it should, but not at all
	}
	// Stop: the member has left; the runner ends the session's share and, with
	// Rejoin, begins anew in another session. With Removed somebody may be removing
	// the job: who begins anew must not define it.
	Stop struct{ Rejoin, Removed bool }
)

func (Run) effect()        {}
func (Cancel) effect()     {}
func (Drain) effect()      {}
func (Listen) effect()     {}
func (Hush) effect()       {}
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
	Shared    bool                // with foreign members, who know what they know
	Instances []ID                // descending
	Labels    []map[string]string // by instance; nil where there are none
	Total     int
	Previous  [][]int // by instance
	Epoch     int32   // version of the assignment it would replace
}
