package protocol

// State is what one member knows and does for one job during one session. NewState creates
// it; only Step changes it. Each part is declared in the file of its topic.
type State struct {
	o    Options
	now  int64
	self ID // "" until the registry shows that this member joined
	view *View

	company   company
	session   session
	commits   commits
	size      sizes
	timers    timers
	clock     clocks
	schedule  schedule
	guests    guests
	backlog   backlog
	reshard   resharding
	listener  listener
	history   history
	switching switching
	absent    []absence
	evidence  evidence
	complaint complaint
}

// Options are given to a member at its start. Configured may change some of them.
type Options struct {
	Base    ID    // wanted id; the first of Base, Base-1, … that occurs nowhere is used
	Session int64 // owner of its ephemeral nodes
	// Define is the job's definition, in case it does not exist. Without its Config the
	// member waits until another one defines the job.
	Define Definition
	// ReshardWait bounds, in ms, how long a due run waits for the leader.
	ReshardWait int64
	// PruneAfter is how long, in ms, a server may have no instance before the leader
	// removes its node; 0: for ever.
	PruneAfter  int64
	MaxUnstored int   // number of rows not stored by the history beyond which nothing begins; 0: no limit
	Linger      int64 // ms that the end of a run waits for other ends, and again after each of them, ten times as long at most
	MaxNodes    int   // nodes that a transaction may write, apart from values of ours; 0: no limit
	MaxBytes    int   // size of a transaction as it is sent; 0: no limit
	NodeBytes   int   // size of each of those nodes
	Slots       int   // runs at once; 0: no limit
	Queue       bool  // overlap policy queue-one
	Replace     bool  // overlap policy replace
	Finish      bool  // self-fencing lets guests finish
	Retry       RetryPolicy
	CatchUp     int // how many instants of each gap without a server begin late, the newest ones; 0: none
	// Started and Completed: the module has that listener of fires.
	Started, Completed bool
	// Contender is the session's token in the queues of latches.
	Contender string
	// Knows reports whether this server has a strategy, Reads whether it can read a cron;
	// nil: always.
	Knows, Reads func(text string) bool
	// Zoneless: the job names no time zone.
	Zoneless bool
	// Barred: the member must not run the job.
	Barred bool
	// Lost: this server was a member before, and its session ended. Removed: it was a
	// member before, and its nodes were deleted.
	Lost, Removed bool
	// Labels are those of this server, for strategies.
	Labels map[string]string
	// Address is where this server offers modules to others; empty: it does not.
	Address string
	// Defines: this server's own file has the job.
	Defines bool
	// Without names a rule that is not asked. Only the simulator sets it, for mutants.
	Without string
}

// NewState is a member that has not joined yet.
func NewState(o Options) *State { return &State{o: o} }

// Self is the id of the member in the registry; "" before it has joined.
func (s *State) Self() ID { return s.self }

// View is the newest view; nil before the first.
func (s *State) View() *View { return s.view }

// config is the job's configuration; nil if there is none that can be read.
func (s *State) config() *Config {
	if s.view == nil || s.view.ConfigFault != "" {
		return nil
	}
	return s.view.Config
}

// present reports whether the member's node exists and belongs to this session. A Leave of
// unknown outcome may have been applied, and another process may have the id by now.
func (s *State) present() bool {
	return s.view.memberOf(s.self, s.o.Session)
}

// own is the member's own record in the view; nil if there is none, as before it has joined.
func (s *State) own() *Runs {
	if s.self == "" {
		return nil
	}
	return s.view.runs(s.self)
}

// disabledHere reports whether an operator has disabled this member's server.
func (s *State) disabledHere() bool { return s.view.serverDisabled(s.self.IP()) }

// mine reports whether both the assignment and the owner's node give the item to this
// member.
func (s *State) mine(i int) bool {
	return i < s.view.total() && s.view.Assignment.owner(i) == s.self && s.view.item(i).Owner == s.self
}

// accounted is the newest instant of an own item that is accounted for. Records of former
// owners were merged into the assignment when the item moved here.
func (s *State) accounted(i int) int64 {
	return max(at(s.view.Assignment.Last, i), at(s.own().Last, i))
}
