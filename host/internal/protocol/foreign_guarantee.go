package protocol

import "slices"

// Foreign members that have a listener of fires wait for one another, which ElasticJob
// calls a guarantee. Each creates a node for every item that it begins, and later for
// every item that has ended. The one that sees all of them calls its listener and
// deletes them; then all go on. So our members create their nodes, too, when they see
// such a round, and the one that creates the last node calls its listener, if its module
// has one. Our members do not wait.

// Round is the nodes of one event.
type Round struct {
	Exists bool
	Items  []int    // ascending
	Strays []string // names that are no items
}

// Guarantee has the rounds of both events.
type Guarantee struct{ Started, Completed Round }

func (g *Guarantee) of(e Event) *Round {
	if e == FireStarted {
		return &g.Started
	}
	return &g.Completed
}

// roundPart is a member's part in the rounds of one event.
type roundPart struct {
	event Event
	items []int // that began, or ended, here since the last round was over; ascending
	was   bool  // the view before had a round
	last  bool  // our node was the last: the round ends after the call of our listener
	full  int64 // since when all nodes exist; 0: they do not
}

// fullFor is how long, in ms, all nodes may exist before a member of ours ends the
// round: the foreign member that saw them may be calling, or none has.
const fullFor = 5_000

// did notes items that began or ended here.
func (s *State) did(e Event, items []int) {
	if !s.company.shared {
		return
	}
	w := s.roundPart(e)
	w.items = append(w.items, items...)
	slices.Sort(w.items)
	w.items = slices.Compact(w.items)
}

func (s *State) roundPart(e Event) *roundPart {
	k := slices.IndexFunc(s.listener.rounds, func(w roundPart) bool { return w.event == e })
	if k < 0 {
		s.listener.rounds = append(s.listener.rounds, roundPart{event: e})
		k = len(s.listener.rounds) - 1
	}
	return &s.listener.rounds[k]
}

// watchRounds follows the rounds.
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
		case !r.Exists && w.was:
			*w = roundPart{event: e}
		case !s.view.full(r):
			w.full = 0
		case w.full == 0:
			w.full = s.now
		}
		w.was = r.Exists
	}
}

func (v *View) full(r *Round) bool { return r.Exists && v.total() > 0 && len(r.Items) >= v.total() }

// joinRound creates the member's nodes of a round for which foreign members wait.
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
		missing := slices.DeleteFunc(slices.Clone(w.items), func(i int) bool {
			_, there := slices.BinarySearch(r.Items, i)
			return there || i >= s.view.total()
		})
		m := JoinRound{Self: s.self, Event: w.event, Items: s.room().first(missing)}
		switch {
		case w.last && s.listener.call == nil && s.view.Fires.of(w.event).By != s.self:
			return Release{Event: w.event}
		case w.last:
			continue
		case len(missing) > 0:
			m.Last = len(r.Items)+len(m.Items) >= s.view.total()
		case w.full != 0 && s.view.calls(w.event):
			s.note(roundFull{k, s.now}) // it may take long
			continue
		case w.full != 0 && s.company.reclaims && s.now >= w.full+fullFor:
			m.Last = true
		default:
			if w.full != 0 && s.company.reclaims {
				s.hold(w.full + fullFor)
			}
			continue
		}
		if m.Last && s.listens(w.event) {
			next := s.view.Fires
			*next.of(w.event) = Call{Instant: max(s.schedule.latest.At, 1), Attempt: 1, By: s.self}
			if next.Completed.Instant < next.Started.Instant && next.Completed.By == "" {
				next.Completed = Call{Instant: next.Started.Instant} // which has a round of its own
			}
			m.Next = &next
		}
		return m
	}
	return nil
}

// roundFull: the listener is being called, so the time for which the round is full
// starts anew.
type roundFull struct {
	round int // of the listener's
	at    int64
}

func (r roundFull) keep(s *State, _ *Plan) { s.listener.rounds[r.round].full = r.at }

// calls: a live member of ours calls the listener.
func (v *View) calls(e Event) bool {
	by := v.Fires.of(e).By
	return by != "" && !v.dead(by)
}

func (s *State) listens(e Event) bool {
	if e == FireStarted {
		return s.o.Started
	}
	return s.o.Completed
}
