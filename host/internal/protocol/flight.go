package protocol

import "github.com/wasmjob/wasmjob/host/reason"

// commits is the commit that this member waits for, and the requests that it has yet to
// commit.
type commits struct {
	flight     *flight // the commit that has no answer yet
	awaitsView bool    // a commit was answered, and nothing is decided until the next view
	plans      int64   // the number of the newest plan with a commit
	asks       []Asked

	readOnly  bool  // the registry takes no writes; holds until the next view
	refusals  int   // number of refusals in a row
	refusedOn int64 // Rev of the view on which they were
}

// flight is a commit in flight.
type flight struct {
	plan int64
	m    Mutation
	view *View
	room *room
	tick int64 // the due instant that it answers
	ask  int64 // the Asked that it fulfils; 0: none
}

// settled reports whether no commit is in flight, and the view is newer than the last
// answer.
func (s *State) settled() bool {
	return s.view != nil && s.commits.flight == nil && !s.commits.awaitsView
}

// committed handles the answer to the commit in flight. After any answer, the next decision
// waits for the next view, which the runner publishes once the mirror has settled after the
// answer. The events of a commit come before its answer, so that view shows the commit. How
// large the next transactions may be follows from the answer as well: see sizes.
func (s *State) committed(in Committed, p *Plan) {
	f := s.commits.flight
	if f == nil || f.plan != in.Plan { // it answers no commit that is awaited
		return
	}
	s.commits.flight = nil
	s.commits.awaitsView = true
	if m, ok := f.m.(Owners); ok && (m.Last || in.Outcome != Applied) {
		s.reshard.parts = nil // the remaining parts begin with a new assignment
	}
	switch in.Outcome {
	case Applied:
		s.commits.refusals = 0
		s.size.grow(f.room, s.o.MaxNodes)
		s.applied(f, in.Revision, p)
	case Unknown:
		// No effect of it is assumed until a view that was read after a sync shows whether
		// it happened; then open entries act by level.
		s.size.noAnswer(f.room)
		p.add(Sync{})
		if _, ok := f.m.(RequestTrigger); ok && f.ask != 0 {
			s.reply(f.ask, "the registry did not answer; whether the trigger was written is unknown", p)
		}
	case Refused:
		s.occupy(in, f)
		if in.TooLarge && f.room.several() {
			s.size.shrink(f.room)
		}
		if s.commits.refusedOn != f.view.Rev {
			s.commits.refusedOn, s.commits.refusals = f.view.Rev, 0
		}
		if m, ok := f.m.(Release); ok {
			w := s.roundPart(m.Event)
			w.last, w.ends = false, false // a node is left there; the member tries again when the round has been full for long
		}
		s.commits.refusals++
		if s.commits.refusals > 1 {
			// The view cannot explain the refusal, so it must lack something.
			p.add(Note{Why: reason.Of(reason.RefusedTwice, f.m.Name())})
			p.add(Reread{})
		}
		p.add(Sync{})
	}
}

// applied carries out what follows at once from an applied commit, whose revision is rev. The
// guests of runs that it began start here; all else that it wrote, the next view shows.
func (s *State) applied(f *flight, rev int64, p *Plan) {
	if f.ask != 0 {
		s.reply(f.ask, "", p)
	}
	switch m := f.m.(type) {
	case Reshard:
		s.reshard.asked, s.reshard.answer = nil, nil
		if m.Parts { // the versions are those that this commit has left
			s.reshard.parts = &parts{epoch: f.view.Assignment.Version + 1, mark: f.view.NecessaryV + 1, deletesOwners: m.Pause, since: s.now}
		}
	case MarkReshard:
		if f.view.Leader != s.self { // otherwise this member assigns
			s.reshard.requestedFor = f.view.eligible()
			s.reshard.requests++
		}
	case Owners:
		if s.reshard.parts != nil && len(m.DeleteOwners) > 0 {
			s.reshard.parts.deletesOwners, s.reshard.parts.since = true, s.now
		}
	case Begin:
		s.did(FireStarted, m.Begun)
		if s.schedule.tick.At == f.tick && !m.More { // no later instant has come due since
			s.schedule.tick = Tick{}
		}
		s.start(m.Own.Open, m.Begun, rev, p)
	case Complete:
		s.did(FireCompleted, m.Items)
	case Count:
		s.timers.counts = counts{s.now, f.view.runs(m.Self).Flow}
	case RecordTaken:
		s.evidence.taken = nil
	case JoinRound:
		s.roundPart(m.Event).joined(m, rev)
	case Take:
		s.did(FireStarted, m.Items)
		s.start(m.Own.Open, m.Items, rev, p)
	case DeleteOwners: // a Leave goes on behind these items
		s.session.ownersDeleted = m.Items[len(m.Items)-1] + 1
	case Leave:
		s.session.ended = true
		p.add(Stop{Rejoin: s.session.barred})
	default: // nothing more follows
	}
}
