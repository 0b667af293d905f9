package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// listening is a call of a listener of fires.
type listening struct{ protocol.Listen }

// listen calls a listener, which takes some time.
func (m *member) listen(e protocol.Listen) {
	m.w.tracef("%s: listener %s of %d, attempt %d", m.name(), e.Event, sinceStart(e.Instant), e.Attempt)
	m.w.ledger.calls(m, e)
	c := &listening{e}
	m.call = c
	d := m.w.between(millisecond, 200*millisecond)
	if m.w.chance(0.1) && !m.w.calm {
		d = m.w.between(200*millisecond, 5*second)
	}
	m.later(d, func() { m.reported(c) })
}

// reported ends a call of a listener, unless it was ended or cut off meanwhile.
func (m *member) reported(c *listening) {
	if m.call == c {
		m.call = nil
		key := fireKey{c.Event, c.Instant}
		t := m.w.ledger.fires[key]
		t.whole = true
		m.w.ledger.fires[key] = t
		m.step(protocol.CallEnded{Event: c.Event, Instant: c.Instant, Attempt: c.Attempt})
	}
}

// endCall ends the call of a listener. The loop receives that on its next turn.
func (m *member) endCall() {
	c := m.call
	m.call = nil
	m.w.tracef("%s: its listener is ended", m.name())
	m.later(1, func() {
		if c != nil && m.call == nil {
			m.step(protocol.CallEnded{Event: c.Event, Instant: c.Instant, Attempt: c.Attempt})
		}
	})
}

type fireKey struct {
	event   protocol.Event
	instant int64
}

// lastCall is the last call of a listener, and its attempt.
type lastCall struct {
	attempt int
	by      protocol.ID
	session int64 // of the member, since ids recur
	whole   bool  // the call was not cut off
}

// calls checks that only one member calls a listener, that the attempts of a call are
// counted, and that an instant is over when it is reported as completed.
func (l *ledger) calls(m *member, e protocol.Listen) {
	for _, o := range l.w.members {
		// A frozen member may have a call that is over. Rounds of begins and of ends do
		// not wait for each other.
		if o != m && o.call != nil && !o.frozen && (l.w.roundWait == 0 || o.call.Event == e.Event) {
			l.w.breach("one listener", "%s calls %s of %d while %s calls", m.name(), e.Event, e.Instant, o.name())
		}
	}
	if l.w.roundWait != 0 {
		return // a round may have the runs of several instants, and an instant several rounds
	}
	key := fireKey{e.Event, e.Instant}
	was := l.fires[key]
	if e.Attempt <= was.attempt { // one may be missing: its member did not come to the call
		l.w.breach("one listener", "%s calls %s of %d as attempt %d, after %d", m.name(), e.Event, e.Instant, e.Attempt, was.attempt)
	}
	if was.by != m.st.Self() && l.lives(was.session) {
		l.w.breach("one listener", "%s calls %s of %d again, though %s lives", m.name(), e.Event, e.Instant, was.by)
	}
	l.fires[key] = lastCall{attempt: e.Attempt, by: m.st.Self(), session: int64(m.s.id)}
	if e.Event == protocol.FireCompleted && !l.over(e.Instant) {
		l.w.breach("fires", "%s: %d is told as completed, but some run of it is not", m.name(), e.Instant)
	}
}

// lives reports whether a member has the session.
func (l *ledger) lives(session int64) bool {
	return slices.ContainsFunc(l.v.Members, func(m protocol.Member) bool { return m.Owner == session })
}

// startedIsTrue checks that every item was seen to have begun an instant that is reported
// as started.
func (l *ledger) startedIsTrue(m protocol.SetFires, by origin) {
	v, at := by.view, m.Next.Started.Instant
	if at == v.Fires.Started.Instant {
		return
	}
	l.counted[at] = map[int]bool{}
	for i := range v.Config.Total {
		switch {
		case lastOf(v, i) >= at:
			l.counted[at][i] = true
		case i >= len(v.Items) || !v.Items[i].Disabled:
			l.w.breach("fires", "%s, but item %d has not begun it", by, i)
		}
	}
}

// over reports whether no scheduled run of the instant is open or waits. Items that were
// disabled, or did not exist, when the instant was reported as started do not count: such
// an item may be enabled and begin the newest instant while that is reported as completed.
func (l *ledger) over(at int64) bool {
	mine := func(e protocol.Entry) bool { return e.Trigger == "" && e.Instant == at && l.counted[at][e.Item] }
	waits := func(r protocol.Retry) bool { return mine(r.Entry) }
	return !slices.ContainsFunc(l.v.Runs, func(r protocol.Runs) bool {
		return slices.ContainsFunc(r.Open, mine) || slices.ContainsFunc(r.Retries, waits)
	}) &&
		!slices.ContainsFunc(l.v.Pending, func(p protocol.Pending) bool { return mine(p.Entry) })
}

// fired checks at the end that each call of a listener was made and ended. If all items
// began the same newest instant, that was reported, too, provided that the leader saw it
// come due.
func (l *ledger) fired() {
	f, o := l.v.Fires, l.w.options
	if !o.Started && !o.Completed {
		if f.Started.Instant != 0 {
			l.w.breach("fires", "something was told though nobody listens")
		}
		return
	}
	called := func(by protocol.ID) bool {
		return by != "" && (l.w.roundWait == 0 || alive(l.v, by)) // a leader of ours makes the call of a dead member again
	}
	if called(f.Started.By) || called(f.Completed.By) || l.w.roundWait == 0 && f.Started.Instant != f.Completed.Instant {
		l.w.breach("fires", "a listener is still called, or was not: %+v", f)
	}
	for key, t := range l.fires {
		if !t.whole && l.lives(t.session) {
			l.w.breach("fires", "the call of %s of %d was cut off, and not made again", key.event, key.instant)
		}
	}
	if l.w.roundWait != 0 {
		return
	}
	newest := lastOf(l.v, 0)
	for i := range l.v.Config.Total {
		if lastOf(l.v, i) != newest {
			return
		}
	}
	if m := l.w.known(l.v.Leader); m != nil && m.fresh && m.ticked == newest && f.Started.Instant != newest {
		l.w.breach("fires", "every item began %d, but %d is the newest that was told", newest, f.Started.Instant)
	}
}
