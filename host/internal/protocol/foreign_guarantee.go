package protocol

import "slices"

// Foreign members that have a listener of fires wait for one another, which ElasticJob
// calls a guarantee. Each creates a node for every item that it begins, and later for
// every item that has ended. The one that sees all of them calls its listener and
// deletes them; then all go on. So our members create their nodes, too, when they see
// such a round. The one that creates the last node ends the round if no foreign member
// does so soon, after a call of its listener if its module has one. Our members do not wait.

// Round is the nodes of one event of a guarantee.
type Round struct {
	Exists  bool
	Created int64    // revision that created it
	Changed int64    // revision that created or deleted its newest node
	Items   []int    // ascending
	Strays  []string // names that are no items
}

// Guarantee has the rounds of both events.
type Guarantee struct{ Started, Completed Round }

// of returns the round of the event.
func (g *Guarantee) of(e Event) *Round {
	if e == FireStarted {
		return &g.Started
	}
	return &g.Completed
}

// roundPart is a member's part in the rounds of one event.
type roundPart struct {
	event Event
	items []int // that began, or ended, here since the last round was over, and have had no node of ours; ascending
	was   bool  // the view before had a round
	last  bool  // our node was to be the last, so the round is ours to end
	rev   int64 // revision that created our newest nodes; 0: none did
	ends  bool  // it ends after the call of our listener
	full  int64 // since when all nodes exist; 0: they do not

	created int64 // the round, by the revision that created it; 0: there is none
	seen    []int // the items whose nodes were seen in it
	thins   int64 // since when one of these is gone; 0: none is
}

// fullFor is how long, in ms, all nodes exist before a member of ours ends the round. A
// foreign member that saw them may be calling its listener, or none has seen them.
const fullFor = 5_000

// seenFor is the same for the member that created the last node. A foreign member looks
// whether its own nodes exist before it waits. If they are gone by then, it looks for ever.
const seenFor = 200

// did notes items that began or ended here, for the nodes of the event's round.
func (s *State) did(e Event, items []int) {
	if !s.company.shared {
		return
	}
	w := s.roundPart(e)
	w.items = append(w.items, items...)
	slices.Sort(w.items)
	w.items = slices.Compact(w.items)
}

// roundPart returns this member's part in the rounds of the event, and makes it if there is
// none.
func (s *State) roundPart(e Event) *roundPart {
	k := slices.IndexFunc(s.listener.rounds, func(w roundPart) bool { return w.event == e })
	if k < 0 {
		s.listener.rounds = append(s.listener.rounds, roundPart{event: e})
		k = len(s.listener.rounds) - 1
	}
	return &s.listener.rounds[k]
}

// watchRounds updates the member's part in the rounds from the view. Without foreign members
// nobody waits in a round.
func (s *State) watchRounds() {
	if !s.company.shared {
		s.listener.rounds = nil
		return
	}
	for _, e := range [...]Event{FireStarted, FireCompleted} {
		r := s.view.Guarantee.of(e)
		if !r.Exists && len(s.listener.rounds) == 0 {
			continue
		}
		w := s.roundPart(e)
		switch {
		case !r.Exists && w.was: // it is over
			*w = roundPart{event: e}
		case r.Created != w.created: // another round: only what waits for its nodes is kept
			*w = roundPart{event: e, items: w.items, created: r.Created}
		}
		switch {
		case !s.view.full(r):
			w.full = 0
		case w.full == 0:
			w.full = s.now
		}
		w.was = r.Exists
		w.watchDeletion(r, s.now)
	}
}

// watchDeletion notes since when nodes that were seen in a round are gone. A foreign member
// that ends a round deletes them one by one, and deletes what is created meanwhile, too. So
// joinRound creates none for a while.
func (w *roundPart) watchDeletion(r *Round, now int64) {
	gone := func(i int) bool {
		_, there := slices.BinarySearch(r.Items, i)
		return !there
	}
	switch thins := slices.ContainsFunc(w.seen, gone); {
	case !thins:
		w.seen, w.thins = r.Items, 0
	case w.thins == 0:
		w.thins = now
	}
}

// joined notes what a JoinRound of ours has written: rev is its revision. With Next it has
// begun the call of our listener, after which the round ends.
func (w *roundPart) joined(m JoinRound, rev int64) {
	if len(m.Items) > 0 {
		w.rev = rev
	}
	w.last, w.ends = w.last || m.Last, m.Next != nil
	w.items = slices.DeleteFunc(w.items, func(i int) bool { return slices.Contains(m.Items, i) })
}

// full reports whether the round has a node for every item.
func (v *View) full(r *Round) bool { return r.Exists && v.total() > 0 && len(r.Items) >= v.total() }

// joinRound creates the member's nodes of a round for which foreign members wait. Once all
// nodes are there, it ends the round if no foreign member does so in time.
func joinRound(s *facts) Mutation {
	if s.own() == nil || s.session.health != Trusted || s.config() == nil || !s.company.shared {
		return nil
	}
	for k := range s.listener.rounds {
		w := &s.listener.rounds[k]
		r := s.view.Guarantee.of(w.event)
		if !r.Exists {
			continue
		}
		if until := w.thins + fullFor; w.thins != 0 && s.now < until {
			s.hold(until)
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(w.items), func(i int) bool {
			_, there := slices.BinarySearch(r.Items, i)
			return there || i >= s.view.total()
		})
		switch {
		case w.ends && s.listener.call == nil && s.view.Fires.of(w.event).By != s.self: // our listener's call has ended
			return Release{Event: w.event}
		case w.ends: // the call goes on
		case len(missing) > 0:
			some := s.room().first(missing)
			return JoinRound{Self: s.self, Event: w.event, Items: some, Last: len(r.Items)+len(some) >= s.view.total()}
		case w.full != 0 && s.view.calls(w.event):
			s.note(roundFull{k, s.now}) // the call may take long
		case w.full != 0:
			if m := endRound(s, w, r); m != nil {
				return m
			}
		}
	}
	return nil
}

// endRound ends a round that no foreign member has ended in time. The member whose nodes were
// the last waits only seenFor; the reclaimer does it if that member does not. A module with a
// listener is called first, for the newest instant, as the round does not say for which it is.
func endRound(s *facts, w *roundPart, r *Round) Mutation {
	until := w.full + fullFor
	switch {
	case w.last, w.rev != 0 && w.rev == r.Changed: // our nodes are the newest
		until = w.full + seenFor
	case !s.company.reclaims:
		return nil
	}
	if s.now < until {
		s.hold(until)
		return nil
	}
	if !s.listens(w.event) {
		return Release{Event: w.event}
	}
	next := s.view.Fires
	*next.of(w.event) = Call{Instant: max(s.schedule.latest.At, 1), Attempt: 1, By: s.self}
	if next.Completed.Instant < next.Started.Instant && next.Completed.By == "" {
		next.Completed = Call{Instant: next.Started.Instant} // without a call: its completion has a round of its own
	}
	return JoinRound{Self: s.self, Event: w.event, Next: &next}
}

// roundFull: the listener is being called, so the time for which the round is full
// starts anew.
type roundFull struct {
	round int // index into listener.rounds
	at    int64
}

// keep lets the time for which the round is full start anew.
func (r roundFull) keep(s *State, _ *Plan) { s.listener.rounds[r.round].full = r.at }

// calls reports whether a live member of ours is calling the listener.
func (v *View) calls(e Event) bool {
	by := v.Fires.of(e).By
	return by != "" && !v.dead(by)
}

// listens reports whether the module has a listener for the event.
func (s *State) listens(e Event) bool {
	if e == FireStarted {
		return s.o.Started
	}
	return s.o.Completed
}
