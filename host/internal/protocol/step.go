package protocol

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/reason"
)

// State is what one member knows and does for one job during one session. Make
// it with NewState; only Step changes it.
type State struct {
	o    Options
	now  int64
	self ID // "" until the registry shows that we joined

	view   *View
	flight *flight // the commit whose answer is awaited
	blind  bool    // a commit was answered: nothing is decided until the next view
	plans  int64
	refused
	over    bool // the session is lost, or we left
	leaving bool
	barred  bool // leaving, and only until it may join again
	gone    bool // Stop was said
	doubt   Doubt

	guests  []guest // ascending by item
	skew    int64   // ms that the clock is ahead of the registry's, when it was measured last
	clocks  clocks
	early   Tick  // the instant that waits for the registry's clock; At 0: none
	tick    Tick  // the instant that is being answered; At 0: none
	latest  Tick  // the newest instant that came due
	dated   bool  // the schedule has said which that is; it may have none
	paused  int64 // the newest instant that came during a pause
	unseen  int64 // the newest instant that had come before this server, until the next one comes; 0: none
	ends    ends
	due     []due         // instants that came while their item ran
	why     []reason.Code // by item: why its instants were not begun
	away    away
	catchUp catchUp

	markSince int64 // since when a reshard is under way
	ahead     ahead
	waitFrom  int64 // since when an instant or a request waits for it; 0: none did
	waitAsked int64 // the newest request that did, by the revision that wrote it
	occupied  []occupied
	parts     *parts   // a reshard of ours whose nodes are not all written
	bereft    bereft   // what restore writes next
	disowned  int      // items below this have no owner's node that names the member, but for those dealt since
	used      *room    // by the mutation that is being decided; nil: it counts nothing
	smaller   int      // items that a transaction may concern, since the registry did not take one of more; 0: as Options say
	lost      int      // answers to transactions of several items that never came, in a row
	fitted    int      // transactions of smaller items that were applied, in a row,
	patience  int      // after how many of them it grows,
	grown     bool     // and that it did since it was made smaller
	full      int      // bytes of the own record, which takes no more runs; 0: it does
	telling   *telling // the listener that is being called here
	instants  []int64  // the newest that came
	swap      swap
	asked     *AssignRequest
	answer    *Assigned
	retry     int64 // when a strategy that failed is asked again
	cron      *string
	schedules []Schedule // the newest last; empty before a configuration was seen
	total     total
	handed    int64 // rows up to here were given to the history
	stored    int64 // rows up to here are durable in the history
	asks      []Asked
	absent    []absence
	wake      int64
	held      int64 // until when a rule waits that is to be asked right then; 0: none does
	torn      int64 // since when a parent of the job's nodes is missing
	wishedFor []ID  // who was there when we asked a leader of ElasticJob to deal anew
	wishes    int   // how often we did, in a row
	witness   witness
	vouched   []vouching
	watched   bool // what strangers have when the first view comes, they may have had for long
	reread    int64
	noted     reason.Reason
	said      said
}

// Options are what a member brings along. They never change, but for those of
// Configured.
type Options struct {
	Base    ID    // wanted id; the first of Base, Base-1, … that occurs nowhere is taken
	Session int64 // owner of its ephemeral nodes
	// Config and Module define the job where there is none. Without a Config the
	// member waits for somebody else to do it.
	Config, Module []byte
	// ReshardWait bounds, in ms, how long a due run waits for the leader.
	ReshardWait int64
	// PruneAfter is how long, in ms, a server may be without instance before
	// the leader removes its node; 0 never.
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
	// Knows tells whether a strategy is known here, Reads whether a cron can be read; nil: each.
	Knows, Reads func(text string) bool
	// Zoneless: the job names no time zone.
	Zoneless bool
	// Barred: the member must not be in the job.
	Barred bool
	// Lost: this server was a member before, and its session ended. Removed: it was,
	// and somebody else has removed its nodes.
	Lost, Removed bool
	// Labels are those of this server, for the strategies of others.
	Labels map[string]string
	// Address is where this server gives modules to others; empty: nowhere.
	Address string
	// Defines: this server's own file has the job.
	Defines bool
	// Without names a rule that is not asked. Only the simulator says one, to
	// show what breaks then.
	Without string
}

type flight struct {
	plan int64
	m    Mutation
	view *View
	room *room
	tick int64 // the instant that was being answered
	ask  int64 // the Asked it answers; 0 none
}

type guest struct {
	Entry
	ended   bool
	state   RowState
	why     reason.Reason
	flow    Flow
	asked   bool // for another attempt
	fenced  bool // asked to stop because the session is in doubt
	killed  bool // a hard Cancel was said
	drained bool // its member left, and it was stopped for nothing else
	items   []int
	unbegun bool // there was none
}

type due struct {
	item  int
	at    int64
	cause Cause
}

type refused struct {
	readOnly bool  // all were, and are until the next view
	refusals int   // in a row,
	refRev   int64 // on the view of this number
}

// NewState is a member that has not joined yet.
func NewState(o Options) *State { return &State{o: o} }

// Self is the id under which the registry knows the member; "" before it joined.
func (s *State) Self() ID { return s.self }

// Owes tells whether the member's record, as it was seen last, has something in
// it that would be missed: an open run, a request, a row that is not stored.
func (s *State) Owes() bool {
	if s.view == nil || s.own() == nil {
		return false
	}
	own := s.own()
	return len(own.Open)+len(own.Retries)+len(own.Triggers)+len(s.unstored(own)) > 0
}

// View is the newest view; nil before the first.
func (s *State) View() *View { return s.view }

// Step takes one input and says what to do. now is the member's clock in Unix
// milliseconds. It may jump: besides the ends of waits, the times that rows show
// and the instant of a trigger, only that is taken from it which agrees with the
// registry's clock.
func Step(s *State, now int64, in Input) Plan {
	s.now = now
	var p Plan
	s.receive(in, &p)
	if s.over || s.gone {
		return p
	}
	s.goByClocks(&p)
	if _, ended := in.(Finished); ended && s.lingersUntil() != 0 {
		s.sleep(&p) // many of these come at once, and none changes what can be done now
		return p
	}
	if s.settled() {
		s.observe(&p)
		if s.gone || s.view.RecordFault != "" {
			return p
		}
		s.act(&p)
		s.listen(&p)
		s.held = 0
		for _, r := range rules {
			if r.name == s.o.Without {
				continue
			}
			s.used = nil
			if m := r.ask(s, &p); m != nil {
				s.plans++
				p.ID, p.Commit = s.plans, m
				s.flight = &flight{plan: p.ID, m: m, view: s.view, room: s.used, tick: s.tick.At, ask: s.askOf(m)}
				break
			}
		}
	}
	s.sleep(&p)
	return p
}

// settled: no commit is under way and the view is younger than the answer to
// the last one.
func (s *State) settled() bool { return s.view != nil && s.flight == nil && !s.blind }

func (s *State) receive(in Input, p *Plan) {
	switch in := in.(type) {
	case Observed:
		s.view, s.blind, s.readOnly = in.View, false, false
	case Tick:
		s.dated = true
		s.arrive(in)
	case Passed:
		s.seePassed(in.At)
	case Recalled:
		s.catchUp.awaited, s.catchUp.instants = false, in.Instants
	case Committed:
		s.committed(in, p)
	case Finished:
		for _, e := range in {
			s.finished(e)
		}
	case Told:
		s.told(in)
	case Assigned:
		// An answer to an older question must not displace the newer one's.
		if s.asked != nil && s.asked.equal(in.Request) {
			s.answered(in, p)
		}
	case Stored:
		s.stored = max(s.stored, in.Upto)
	case Doubted:
		s.doubted(in.Level, p)
	case ReadOnly:
		s.unwritable()
	case Measured:
		s.skew = in.Skew
	case Asked:
		if _, ok := in.Ask.(AskLeave); ok {
			s.leaving, s.barred = true, false
			return
		}
		s.asks = append(s.asks, in)
	case Unasked:
		s.asks = slices.DeleteFunc(s.asks, func(a Asked) bool { return a.ID == in.ID })
	case Prepared:
		s.prepared(in)
	case Configured:
		s.configured(in)
	case Elapsed:
		s.wake = 0
	case SessionLost:
		s.over = true
		s.hush(p)
		for _, g := range s.guests {
			if !g.ended {
				p.add(Cancel{Item: g.Item, Hard: true, Why: reason.Of(reason.SessionOver)})
			}
		}
	}
}

// came notes that an instant is due, if it is newer than any before.
func (s *State) came(t Tick) bool {
	if t.At <= s.latest.At {
		return false
	}
	s.latest = t
	if s.view != nil && (s.view.Paused || s.pausedByCron()) {
		s.paused = t.At
	}
	return true
}

// committed digests the answer to the commit in flight. Whatever it is, the
// next decision waits for the next view, which the runner publishes once the
// mirror has settled after the answer: the events of a commit come before its
// answer, so that view shows it.
func (s *State) committed(in Committed, p *Plan) {
	f := s.flight
	if f == nil || f.plan != in.Plan {
		return
	}
	s.flight = nil
	s.blind = true
	if m, ok := f.m.(Owners); ok && (m.Last || in.Outcome != Applied) {
		s.parts = nil // what is still to be done begins with a new deal
	}
	switch in.Outcome {
	case Applied:
		s.refusals = 0
		s.grow(f.room)
		s.applied(f, in.Revision, p)
	case Unknown:
		// Nothing of it is carried out until a view read after a sync shows
		// whether it happened; entries then act by level.
		s.unanswered(f.room)
		p.add(Sync{})
		if _, ok := f.m.(RequestTrigger); ok && f.ask != 0 {
			s.reply(f.ask, "the registry did not answer; whether the trigger was written is unknown", p)
		}
	case Refused:
		s.occupy(in, f)
		if in.TooLarge && f.room.several() {
			s.shrink(f.room)
		}
		if s.refRev != f.view.Rev {
			s.refRev, s.refusals = f.view.Rev, 0
		}
		if m, ok := f.m.(Release); ok {
			s.vouching(m.Event).last = false // something is left there; it is tried again when the round has been full for long
		}
		s.refusals++
		if s.refusals > 1 {
			// The view cannot explain the refusal: it must have missed something.
			p.add(Note{Why: reason.Of(reason.RefusedTwice, f.m.Name())})
			p.add(Reread{})
		}
		p.add(Sync{})
	}
}

// applied carries out what a commit made true.
func (s *State) applied(f *flight, rev int64, p *Plan) {
	if f.ask != 0 {
		s.reply(f.ask, "", p)
	}
	switch m := f.m.(type) {
	case Reshard:
		s.asked, s.answer = nil, nil
		if m.Parts {
			s.parts = &parts{epoch: f.view.Assignment.Version + 1, mark: f.view.NecessaryV + 1, strip: m.Pause, since: s.now}
		}
	case MarkReshard:
		if f.view.Leader != s.self { // else it is ours to assign
			s.wishedFor = f.view.eligible()
			s.wishes++
		}
	case Owners:
		if s.parts != nil && len(m.Strip) > 0 {
			s.parts.strip, s.parts.since = true, s.now
		}
	case Begin:
		s.did(FireStarted, m.Begun)
		if s.tick.At == f.tick && !m.More {
			s.tick = Tick{}
		}
		s.start(m.Own.Open, m.Begun, rev, p)
	case Complete:
		s.did(FireCompleted, m.Items)
	case Tally:
		s.witness.taken = nil
	case Vouch:
		s.vouching(m.Event).last = m.Last
	case Take:
		s.did(FireStarted, m.Items)
		s.start(m.Own.Open, m.Items, rev, p)
	case Disown:
		s.disowned = m.Items[len(m.Items)-1] + 1
	case Leave:
		s.gone = true
		p.add(Stop{Rejoin: s.barred})
	default: // the next view shows it
	}
}

// hold asks to be woken right at that moment.
func (s *State) hold(until int64) {
	if s.held == 0 || until < s.held {
		s.held = until
	}
}

// wakeAtLeast keeps a wait that cannot end yet from waking in a circle.
const wakeAtLeast = 100

func (p *Plan) add(e Effect) { p.Effects = append(p.Effects, e) }

// Troubles are what keeps the job from going on as it should, and what is
// foreign or damaged in its nodes, one sentence each.
func (s *State) Troubles() []reason.Reason {
	v := s.view
	if v == nil {
		return nil
	}
	all := slices.Clone(v.Faults)
	if s.self != "" && v.Config == nil && v.ConfigFault == "" {
		all = append(all, reason.Of(reason.ConfigGone))
	}
	if s.self != "" && s.apart() != "" && !s.barred { // else who bars it tells
		all = append(all, reason.Of(s.apart()))
	}
	if s.self != "" && s.puzzled() {
		all = append(all, reason.Of(reason.LeadLeftToForeign, strconv.Quote(s.config().Strategy)))
	}
	if s.reshardOverdue() {
		all = append(all, reason.Of(reason.ReshardOverdue, strconv.FormatInt((s.now-s.markSince)/1000, 10)))
	}
	if why := s.leadOverdue(); !why.None() {
		all = append(all, why)
	}
	if own := s.own(); s.full != 0 && own != nil {
		all = append(all, reason.Of(reason.RecordWouldOverflow, strconv.Itoa(s.full), strconv.Itoa(s.recordBound()), strconv.Itoa(len(own.Open))))
	}
	if !s.clocks.why.None() {
		all = append(all, s.clocks.why)
	}
	return append(all, slices.DeleteFunc([]reason.Reason{s.accountedAhead(), s.unreadWhy(), s.catchUpRefused()}, reason.Reason.None)...)
}

// note tells, once, what keeps the job from going on; none: nothing does any
// more.
func (s *State) note(p *Plan, why reason.Reason) {
	switch {
	case why == s.noted:
	case why.None():
		p.add(Note{Why: reason.Of(reason.Mended)})
	default:
		p.add(Note{Why: why, Wrong: true})
	}
	s.noted = why
}

// sleep asks to be woken when a wait ends, once for each moment.
func (s *State) sleep(p *Plan) {
	next := s.alarm()
	exact := s.held
	if exact <= s.now {
		exact = 0
	}
	if exact = sooner(exact, s.lingersUntil()); exact != 0 && sooner(exact, next) == exact {
		if exact != s.wake {
			s.wake = exact
			p.add(Wake{At: exact})
		}
		return
	}
	if next != 0 && next != s.wake {
		s.wake = next
		p.add(Wake{At: max(next, s.now+wakeAtLeast)})
	}
}

// alarm is when the first of those waits ends that are not for a certain moment;
// 0: there is none.
func (s *State) alarm() int64 {
	next := sooner(s.nextRetry(), s.swap.retry)
	next = sooner(sooner(next, s.removalOver()), s.leadTold())
	if s.early.At != 0 {
		next = sooner(next, s.early.At-s.tolerance()+s.skew)
	}
	if s.waits() && (s.tick.At != 0 || s.triggered() || s.retryDue()) {
		next = sooner(next, s.waitsUntil())
	}
	if s.answer != nil && s.answer.Fault != "" && s.leads() && s.markSince != 0 {
		next = sooner(next, s.retry)
	}
	if len(s.absent) > 0 && s.o.PruneAfter > 0 && s.leads() {
		next = sooner(next, s.absent[0].since+s.o.PruneAfter)
	}
	if c := s.config(); c != nil && c.ReconcileEvery > 0 && s.self != "" {
		next = sooner(next, s.reread+c.ReconcileEvery)
	}
	return next
}

// sooner is the earlier of two moments, where 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
