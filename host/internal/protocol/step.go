package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// State is what one member knows and does for one job during one session. NewState makes
// it; only Step changes it. Each part is in the file of its concern.
type State struct {
	o    Options
	now  int64
	self ID // "" until the registry shows that we joined
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
	swap      swap
	absent    []absence
	evidence  evidence
	complaint complaint
}

// Options are what a member brings along. Only Configured changes some of them.
type Options struct {
	Base    ID    // wanted id; the first of Base, Base-1, … that occurs nowhere is taken
	Session int64 // owner of its ephemeral nodes
	// Define is the job, if none exists. Without its Config the member waits until
	// another one defines it.
	Define Definition
	// ReshardWait bounds, in ms, how long a due run waits for the leader.
	ReshardWait int64
	// PruneAfter is how long, in ms, a server may be without instance before the leader
	// removes its node; 0 never.
	PruneAfter  int64
	MaxUnstored int   // rows that may wait for the history before nothing begins; 0: no bound
	Linger      int64 // ms that the end of a run waits for others, and again after each of those; ten times as long at most
	MaxNodes    int   // nodes that a transaction may write beside the values of ours; 0: no bound
	MaxBytes    int   // of a transaction, as it is sent; 0: no bound
	NodeBytes   int   // of each of those nodes
	Slots       int   // runs at once; 0: no bound
	Queue       bool  // overlap policy queue-one
	Replace     bool  // overlap policy replace
	Finish      bool  // self-fencing lets guests finish
	Retry       RetryPolicy
	CatchUp     int // how many of the instants that were missed while no server was there begin late, of each gap
	// Started and Completed: the module has the listener of fires.
	Started, Completed bool
	// Contender is the session's token in the queues of latches.
	Contender string
	// Knows reports whether a strategy is known here, Reads whether a cron can be read;
	// nil: each.
	Knows, Reads func(text string) bool
	// Zoneless: the job names no time zone.
	Zoneless bool
	// Barred: the member must not be in the job.
	Barred bool
	// Lost: this server was a member before, and its session ended. Removed: it was a
	// member before, and its nodes were removed.
	Lost, Removed bool
	// Labels are those of this server, for strategies.
	Labels map[string]string
	// Address is where this server offers modules to others; empty: nowhere.
	Address string
	// Defines: this server's own file has the job.
	Defines bool
	// Without names a rule that is not asked. Only the simulator sets it, for mutants.
	Without string
}

// NewState is a member that has not joined yet.
func NewState(o Options) *State { return &State{o: o} }

// Self is the id under which the registry knows the member; "" before it joined.
func (s *State) Self() ID { return s.self }

// Owes reports whether the member's record, as it was last seen, holds something that
// would be missed: an open run, a request, a row that is not stored.
func (s *State) Owes() bool {
	if s.view == nil || s.own() == nil {
		return false
	}
	own := s.own()
	return len(own.Open)+len(own.Retries)+len(own.Triggers)+len(s.history.unstored(own)) > 0
}

// View is the newest view; nil before the first.
func (s *State) View() *View { return s.view }

// Step takes one input and returns what to do. now is the member's clock in Unix
// milliseconds. It may jump: the ends of waits, the times in rows and the instant of a
// trigger come from it; all else only as far as it agrees with the registry's clock.
func Step(s *State, now int64, in Input) Plan {
	s.now = now
	var p Plan
	s.receive(in, &p)
	if s.session.lost || s.session.ended {
		return p
	}
	s.goByClocks(&p)
	if _, ended := in.(Finished); ended && s.lingersUntil() != 0 {
		s.sleep(&p) // many of these come at once, and none changes what can be done now
		return p
	}
	if s.settled() {
		s.observe(&p)
		if s.session.ended || s.view.RecordFault != "" {
			return p
		}
		s.act(&p)
		s.listen(&p)
		s.timers.held = 0
		s.decide(&p)
	}
	s.sleep(&p)
	return p
}

func (s *State) receive(in Input, p *Plan) {
	switch in := in.(type) {
	case Observed:
		s.view, s.commits.awaitsView, s.commits.readOnly = in.View, false, false
		s.seeCompany()
	case Tick:
		s.schedule.dated = true
		s.arrive(in)
	case Passed:
		s.seePassed(in.At)
	case Recalled:
		s.backlog.catchUp.awaited, s.backlog.catchUp.instants = false, in.Instants
	case Committed:
		s.committed(in, p)
	case Finished:
		for _, e := range in {
			s.finished(e)
		}
	case CallEnded:
		s.listener.ended(in)
	case Assigned:
		// An answer to an older question must not replace the newer one's.
		if s.reshard.asked != nil && s.reshard.asked.equal(in.Request) {
			s.answered(in, p)
		}
	case Stored:
		s.history.stored = max(s.history.stored, in.Upto)
	case Doubted:
		s.doubted(in.Level, p)
	case ReadOnly:
		s.unwritable()
	case Measured:
		s.clock.skew = in.Skew
	case Asked:
		if _, ok := in.Ask.(AskLeave); ok {
			s.session.leaving, s.session.barred = true, false
			return
		}
		s.commits.asks = append(s.commits.asks, in)
	case Unasked:
		s.commits.asks = slices.DeleteFunc(s.commits.asks, func(a Asked) bool { return a.ID == in.ID })
	case Prepared:
		s.prepared(in)
	case Configured:
		s.configured(in)
	case Elapsed:
		s.timers.wake = 0
	case SessionLost:
		s.session.lost = true
		s.listener.cut(p)
		for _, g := range s.guests.all {
			if !g.ended {
				p.add(Cancel{Item: g.Item, Hard: true, Why: reason.Of(reason.SessionOver)})
			}
		}
	}
}

// came notes a due instant, if it is newer than any before.
func (s *State) came(t Tick) bool {
	if t.At <= s.schedule.latest.At {
		return false
	}
	s.schedule.latest = t
	if s.view != nil && (s.view.Paused || s.pausedByCron()) {
		s.schedule.paused = t.At
	}
	return true
}

func (p *Plan) add(e Effect) { p.Effects = append(p.Effects, e) }
