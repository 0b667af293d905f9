package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// Input is an event for one member of one job.
//
//sumtype:decl
type Input interface{ input() }

type (
	// Observed: the mirror settled. The runner sends a View whenever it differs from the
	// one before, and after every Committed.
	Observed struct{ View *View }
	// Tick: the scheduled instant At is due. Prev is the instant right before it in the
	// schedule, 0 if unknown. Next is the one right after it, which some layouts write; 0
	// if there is none.
	Tick struct{ At, Prev, Next int64 }
	// Passed: At is the newest instant that had come when the schedule was set, and Next
	// the one right after it, as in Tick. Nothing begins for At; it shows that older
	// instants are overtaken.
	Passed struct{ At, Next int64 }
	// Committed answers Plan.ID. The Revision of an applied mutation is known.
	Committed struct {
		Plan     int64
		Outcome  Outcome
		Revision int64
		// Occupied is the item, one of Remove, that kept a Reshard or a part of it from
		// being applied, because a node below it is not ours. It counts from 1; 0 is none.
		Occupied int
		// TooLarge: the registry refused it because it takes only smaller ones.
		TooLarge bool
	}
	// Finished: guests ended, in this order.
	Finished []End
	// End is how the guest of an entry ended. It is not an input itself.
	End struct {
		Entry Entry
		State RowState
		Why   reason.Reason
		Flow  Flow
		Asked bool // it failed, and the guest asks for another attempt
	}
	// CallEnded: the call of the effect Listen has ended, in whatever way.
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
	// Stored: the history has stored the rows up to number Upto, so the record need not
	// hold them any longer.
	Stored struct{ Upto int64 }
	// Doubted gives session health: how much of the time-out has passed since the last
	// acknowledged request was sent.
	Doubted struct{ Level Doubt }
	// ReadOnly: the registry takes no writes, until the next Observed.
	ReadOnly struct{}
	// Measured gives the ms by which the member's clock is ahead of the registry's, or
	// behind if negative. What the measuring itself may have added is left out.
	Measured struct{ Skew int64 }
	// Asked is a request of an operator or of the host.
	Asked struct {
		ID  int64
		Ask Ask
	}
	// Unasked: the caller no longer waits. A request that is not yet a commit is dropped.
	Unasked struct{ ID int64 }
	// Prepared answers Prepare.
	Prepared struct{ Ready }
	// Elapsed: time has passed, as an earlier Wake asked.
	Elapsed struct{}
	// SessionLost: the session is over, and with it this member. Its guests are ended.
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
	// Unknown: it may be applied now, later or never. Only a view read after a sync shows
	// which.
	Unknown
)

// Doubt grows while the registry does not answer.
type Doubt uint8

const (
	// Trusted: the session is ours.
	Trusted Doubt = iota
	// Doubtful: half of the time-out has passed; nothing starts, and guests are asked to
	// stop.
	Doubtful
	// Expired: three quarters have passed; all guests are ended.
	Expired
)

// Ask is what an operator may ask of a job.
//
//sumtype:decl
type Ask interface{ ask() }

type (
	// AskTrigger asks every instance to run its items now.
	AskTrigger struct{}
	// AskPause stops or resumes scheduled runs.
	AskPause struct {
		Paused bool
		Pause  Pause
	}
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
	// AskConfig writes the whole configuration, which was derived from version Have.
	AskConfig struct {
		Config Spelled
		Have   Version
	}
	// AskDefine writes configuration and module, which were derived from the versions Have
	// and HaveModule.
	AskDefine struct {
		Definition
		Have, HaveModule Version
	}
	// AskReshard asks for a reshard.
	AskReshard struct{}
	// AskLeave asks this member to leave: nothing new begins.
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

// Plan is the decision of one Step.
type Plan struct {
	// ID numbers plans with a Commit; the answer Committed carries it.
	ID      int64
	Commit  Mutation // nil: nothing to commit
	Effects []Effect
}

// Mutation is one transaction, all or nothing, named by what it means. It checks the
// versions of the view on which it was decided, which the layout gets with it.
//
//sumtype:decl
type Mutation interface {
	Name() string
	mutation()
}

type (
	// Setup creates the job's parent nodes and, if there is no config, the definition:
	// config and, unless it exists, the module's node.
	Setup struct{ Definition }
	// Join registers a member.
	Join struct {
		ID       ID
		Disabled bool // value of the server's node if it is absent
		Labels   map[string]string
		Address  string
		Defines  bool
		// Unattended is when the member joined, if the job catches up and no member is
		// there that could have begun earlier instants.
		Unattended int64
	}
	// SetServer creates the node of the member's server again, which a clean-up deleted.
	SetServer struct{ IP string }
	// PruneServers deletes nodes of servers that have had no instance for long.
	PruneServers struct{ IPs []string }
	// Contend queues the member at a latch.
	Contend struct {
		Latch Latch
		Token string
	}
	// Withdraw gives up the member's place in the queue of a latch.
	Withdraw struct {
		Latch Latch
		Place string
	}
	// Elect makes the member leader, and gives up its place in the election latch.
	Elect struct {
		ID    ID
		Place string
	}
	// Abdicate gives up the lead, unless a foreign member leads by then. It also sets the
	// member's record, so that an Abdicate that arrives late is refused and does not end the
	// lead of a successor.
	Abdicate struct {
		Self ID
		Own  RunsData
	}
	// MarkReshard asks the leader to reshard.
	MarkReshard struct{}
	// Reshard assigns every item. With Parts the items' nodes do not fit into one
	// transaction, so it writes none of them and leaves the mark necessary; Owners follow.
	Reshard struct {
		Check  []ID // live members of ours whose runs must not have changed
		Moving []ID // members that lose or get items, whose instances must not have changed
		Next   Assignment
		Self   ID // the leader, if it writes rows; else ""
		Own    RunsData
		Remove []int // surplus items whose nodes go
		Clear  []int // surplus items whose nodes cannot be deleted: only our nodes below them are
		Parts  bool
		// Pause: Owners follow after a pause, and create the owners' nodes of DeleteOwners
		// again, which are deleted now.
		Pause        bool
		DeleteOwners []int
	}
	// Adopt changes the assignment to what a foreign leader has assigned, and creates the
	// seal.
	Adopt struct {
		Check  []ID  // as in Reshard, like Moving, Self and Own
		Items  []int // whose owners' nodes must not have changed
		Next   Assignment
		Moving []ID
		Self   ID
		Own    RunsData
	}
	// ClearProcessing deletes the mark processing of a reshard that the member began before
	// it lost the lead.
	ClearProcessing struct{}
	// Owners makes items' nodes match the assignment that a Reshard with Parts wrote; the
	// Last of them removes the mark necessary.
	Owners struct {
		Write         []int // items whose own node, or owner's node, is not as it should be
		Remove, Clear []int // as in Reshard
		DeleteOwners  []int // as in Reshard; the mutation has nothing else then
		Last          bool  // no writes are left for another one
	}
	// Begin opens runs of the member's items; with Ack it also takes the trigger out of the
	// instance's node. With More, further runs follow in the next transaction.
	Begin struct {
		Self          ID
		Own           RunsData
		Begun         []int // items that begin
		Monitor       bool  // they get a running mark
		Unmark        []int // misfire marks to clear
		DeletePending []int // pending runs that are overtaken
		Backfilled    []int // items that begin the oldest instant of their backfill
		Ack           bool
		More          bool
		Shared        bool // with foreign members: owners' nodes and the seal must not have changed
		Check         []ID // beside foreign members, with DeletePending: all other members with a record
		// Next is the job's next instant, which some layouts write; 0: there is none, or it
		// is unknown.
		Next int64
	}
	// Complete closes runs whose guests have ended.
	Complete struct {
		Self  ID
		Own   RunsData
		Items []int
	}
	// NextAttempt opens the next attempt of runs that self-fencing ended.
	NextAttempt struct {
		Self ID
		Own  RunsData
	}
	// Forget takes rows that the history has stored out of the record.
	Forget struct {
		Self ID
		Own  RunsData
	}
	// RecordMissed puts rows of a job that no server runs into the record of a dead member,
	// which it creates if there is none.
	RecordMissed struct {
		ID  ID
		Own RunsData
	}
	// RecordTaken writes rows of runs that foreign members have taken.
	RecordTaken struct {
		Self ID
		Own  RunsData
	}
	// Account writes rows that no other mutation carries: of triggers that can no longer
	// run. A retry that moves becomes pending in a new epoch, because a Take of the attempt
	// before may still be in flight and would find a node of the same name.
	Account struct {
		Self ID
		Own  RunsData
		Pend []Pending
		Next *Assignment // nil if nothing becomes pending
	}
	// MarkMisfire marks items whose next instant came during a run.
	MarkMisfire struct{ Items []int }
	// ClearMarks removes own marks without an open run. If the records of Check are
	// unchanged, it also removes marks that no session holds, and those of items that
	// foreign members took and will not run.
	ClearMarks struct {
		Self              ID
		Check             []ID
		Running, Failover []int
	}
	// Reclaim ends a dead member's record, or the part of it that fits into one
	// transaction; Rest is what remains.
	Reclaim struct {
		Self ID
		Dead ID
		Own  RunsData
		Next Assignment
		Pend []Pending
		// Check lists owners of the pending items, whose runs must not have changed.
		Check []ID
		// Unmark lists items with a run that gets a row and may have left marks.
		Unmark []int
		Rest   *RunsData // nil: the record is deleted
	}
	// ReclaimForeign makes pending, or gives a row to, runs that foreign members had open
	// when they died.
	ReclaimForeign struct {
		Self  ID
		Own   RunsData
		Next  Assignment
		Pend  []Pending
		Check []ID // all other members with a record
	}
	// Take begins pending runs, and gives up the place in the queue, if there is one.
	Take struct {
		Self    ID
		Own     RunsData
		Items   []int
		Monitor bool
		Place   string
		Check   []ID  // if foreign members can run the job: all other members with a record
		Next    int64 // as in Begin
	}
	// JoinRound creates the member's nodes of a round for which foreign members wait. With
	// Last they complete it. With Next the member calls its listener, and then ends it.
	JoinRound struct {
		Self  ID
		Event Event
		Items []int
		Last  bool
		Next  *Fires
	}
	// Release ends such a round, so that foreign members go on.
	Release struct{ Event Event }
	// SetFires writes for which fires the listeners were called.
	SetFires struct {
		Self ID
		Next Fires
	}
	// Follow makes members count how instants end, for a job that runs after this one.
	Follow struct{}
	// Drop gives up pending runs that no member may take any more.
	Drop struct {
		Self  ID
		Own   RunsData
		Items []int
		Check []ID // if foreign members can run the job: all other members with a record
	}
	// Leave ends the membership. If foreign members would regard it as a death, it also
	// deletes the owners' nodes of Items, which name the member.
	Leave struct {
		Self     ID
		Next     Assignment
		Listened bool
		Items    []int
	}
	// DeleteOwners deletes the owners' nodes of items before a Leave.
	DeleteOwners struct{ Items []int }
	// RequestTrigger writes an operator's trigger to every instance.
	RequestTrigger struct{ To []ID }
	// SetPaused pauses or resumes the job.
	SetPaused struct {
		Paused bool
		Pause  Pause
	}
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
	// Define replaces a job's definition. A part that is nil stays as it is, and is only
	// checked, because the other was derived from it.
	Define struct{ Definition }
	// Publish writes to the member's own node how far it is with the next module.
	Publish struct {
		Member Join // the other values of the node
		Ready  Ready
	}
	// Count reports how many elements of a dataflow the member has handled in an interval.
	Count struct {
		Self    ID
		Handled Flow
	}
	// Switch replaces the module by the next one.
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
func (NextAttempt) Name() string     { return "next-attempt" }
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
func (Follow) Name() string          { return "follow" }
func (Drop) Name() string            { return "drop" }
func (Leave) Name() string           { return "leave" }
func (DeleteOwners) Name() string    { return "delete-owners" }
func (RequestTrigger) Name() string  { return "request-trigger" }
func (SetPaused) Name() string       { return "set-paused" }
func (DisableItem) Name() string     { return "disable-item" }
func (DisableServer) Name() string   { return "disable-server" }
func (PutConfig) Name() string       { return "put-config" }
func (Define) Name() string          { return "define" }
func (Publish) Name() string         { return "publish" }
func (Count) Name() string           { return "count" }
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
func (NextAttempt) mutation()     {}
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
func (Follow) mutation()          {}
func (Drop) mutation()            {}
func (Leave) mutation()           {}
func (DeleteOwners) mutation()    {}
func (RequestTrigger) mutation()  {}
func (SetPaused) mutation()       {}
func (DisableItem) mutation()     {}
func (DisableServer) mutation()   {}
func (PutConfig) mutation()       {}
func (Define) mutation()          {}
func (Publish) mutation()         {}
func (Count) mutation()           {}
func (Switch) mutation()          {}
