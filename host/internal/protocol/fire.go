package protocol

import "slices"

// A fire is an instant of the job as a whole. If the module has listeners of fires, the
// leader calls them, once for all servers: when every item has begun the instant, and when
// all these runs have ended. No run waits for a call. An instant that some item did not
// begin has no call.

// Fires names the newest fire for which each listener was called. The job has one such
// node.
type Fires struct {
	Exists   bool
	Version  int32
	Modified int64 // revision of the last set: the fencing token of a call
	// Started is about the newest instant that every item had begun, Completed about the
	// newest one whose runs have all ended.
	Started, Completed Call
	Followed           bool // jobs run after this one, so its members count how its instants end
}

// listener is this member's part in calling listeners of fires.
type listener struct {
	call     *listenerCall // the call in progress; nil: none
	instants []int64       // the newest instants that came, ascending
	rounds   []roundPart
}

// Call is one call of a listener.
type Call struct {
	Instant int64
	Attempt int // 0: the module has no such listener
	By      ID  // the calling member, while it calls
}

// Event is the kind of a call.
type Event string

const (
	FireStarted   Event = "started"
	FireCompleted Event = "completed"
)

// ended notes that the call in progress has ended, unless the input is about another one.
func (l *listener) ended(in CallEnded) {
	if t := l.call; t != nil && t.event == in.Event && t.Instant == in.Instant && t.Attempt == in.Attempt {
		t.ended = true
	}
}

// listenerCall is the call in progress of this member.
type listenerCall struct {
	Call
	event Event
	ended bool
	cut   bool // EndCall was given because the session was not trusted
}

// callListeners writes each call of a listener before it begins and after it ends, to the
// one node that names the newest calls. A member with a call in progress waits for its end.
// Otherwise the leader begins the next: first again the call of a dead member, then the
// completed call of the newest fire, then the started call of the next one. Beside foreign
// members a started call begins only when a round ends.
func callListeners(s *facts) Mutation {
	if s.own() == nil || s.session.health != Trusted {
		return nil
	}
	next := s.view.Fires // listen makes the call that the node gives to its member
	if t := s.listener.call; t != nil {
		if !t.ended {
			return nil
		}
		if n := next.of(t.event); t.cut && !s.session.leaving { // the session has survived: call again
			n.Attempt++
		} else {
			n.By = ""
		}
		return SetFires{Self: s.self, Next: next}
	}
	if !s.company.leads || s.session.leaving || s.config() == nil || !s.o.Started && !s.o.Completed {
		return nil
	}
	for _, e := range [...]Event{FireStarted, FireCompleted} {
		t := next.of(e)
		switch {
		case t.By == "": // no call goes on
		case !s.view.dead(t.By): // that member ends its call itself
			return nil
		default: // the caller died during the call; whether its guest did its work is unknown
			t.By, t.Attempt = s.self, t.Attempt+1
			return SetFires{Self: s.self, Next: next}
		}
	}
	if at := next.Started.Instant; next.Completed.Instant < at {
		if !s.view.ended(at) {
			return nil
		}
		next.Completed = s.newCall(at, s.o.Completed)
		return SetFires{Self: s.self, Next: next}
	}
	at := s.begun()
	if s.company.shared || at <= next.Started.Instant { // of a round, see endRound
		return nil
	}
	next.Started = s.newCall(at, s.o.Started)
	return SetFires{Self: s.self, Next: next}
}

// of returns the newest call of the event's listener, to be read or changed.
func (f *Fires) of(e Event) *Call {
	if e == FireStarted {
		return &f.Started
	}
	return &f.Completed
}

// newCall returns the call that begins for a fire. Without a listener (has) it has no attempt
// and no caller, and only keeps the order of the fires.
func (s *State) newCall(at int64, has bool) Call {
	if !has {
		return Call{Instant: at}
	}
	return Call{Instant: at, Attempt: 1, By: s.self}
}

// keptInstants is how many of the newest instants a member remembers. The clocks of the
// leader and of a member that begins may be so many instants apart.
const keptInstants = 16

// begun is the newest instant that every item has begun, which is the oldest of their newest
// ones. It is 0 unless that instant has come here as well. Disabled items do not count.
func (s *State) begun() int64 {
	v := s.view
	a := v.Assignment.clone()
	for k := range v.Runs {
		a.fold(v.Runs[k].RunsData)
	}
	var oldest int64
	for i := range v.total() {
		if v.item(i).Disabled {
			continue
		}
		if t := at(a.Last, i); oldest == 0 || t < oldest {
			oldest = t
		}
		if at(a.Last, i) == 0 { // it has begun none yet
			return 0
		}
	}
	if !slices.Contains(s.listener.instants, oldest) {
		return 0 // a new item's first accounted moment, or an instant that has not come here
	}
	return oldest
}

// listen starts the call that the node gives to this member, and forgets a call that the
// node no longer names.
func (s *State) listen(p *Plan) {
	f := s.view.Fires
	if t := s.listener.call; t != nil {
		if *f.of(t.event) == t.Call {
			return
		}
		if !t.ended {
			p.add(EndCall{})
		}
		s.listener.call = nil
	}
	if s.session.health != Trusted || s.own() == nil {
		return
	}
	for _, e := range [...]Event{FireStarted, FireCompleted} {
		if t := *f.of(e); t.By == s.self {
			s.listener.call = &listenerCall{Call: t, event: e}
			l := Listen{Event: e, Instant: t.Instant, Attempt: t.Attempt, Fence: f.Modified}
			if e == FireCompleted && !s.company.shared { // foreign members count no results
				l.Results = s.view.results(t.Instant)
			}
			p.add(l)
			return
		}
	}
}

// cut ends the call in progress. What it has done is unknown. If the session survives, this
// member makes the call again, otherwise the next leader.
func (l *listener) cut(p *Plan) {
	if t := l.call; t != nil && !t.ended {
		t.ended, t.cut = true, true
		p.add(EndCall{})
	}
}
