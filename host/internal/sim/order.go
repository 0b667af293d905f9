package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// In the time of order nothing fails any more, so duties must be done soon.

const (
	obedience = 500 * millisecond  // limit for obeying what was forbidden
	prompt    = 700 * millisecond  // limit for beginning what is due
	upkeep    = 1500 * millisecond // limit for the leader's duties
)

// changes records when the conditions of running last changed.
func (l *ledger) changes(old *protocol.View) {
	v := l.v
	if !slices.Equal(disabled(old), disabled(v)) || !slices.Equal(old.Servers, v.Servers) || old.Paused != v.Paused || old.Pause != v.Pause || old.ConfigVersion != v.ConfigVersion {
		l.said()
		l.resumesAt(v.Pause)
	}
	if old.Paused != v.Paused || old.Pause != v.Pause {
		l.pausesChange()
	}
	if old.Necessary || v.Necessary || old.Processing || v.Processing || l.paused() || !slices.Equal(old.Instances, v.Instances) {
		l.unrest = l.w.now
	}
}

// said records that an operator's setting counts from now on.
func (l *ledger) said() {
	l.wordAt, l.unrest = l.w.now, l.w.now
	if l.w.orderly {
		l.w.after(upkeep, l.obeyed(l.wordAt))
	}
}

// disabled returns, by item, whether an operator disabled it.
func disabled(v *protocol.View) []bool {
	d := make([]bool, len(v.Items))
	for i := range v.Items {
		d[i] = v.Items[i].Disabled
	}
	return d
}

// banned reports whether an operator disabled the server of the member.
func banned(v *protocol.View, id protocol.ID) bool {
	return slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.IP == id.IP() && s.Disabled })
}

// allowed checks that nothing begins long after an operator forbade it.
func (l *ledger) allowed(id protocol.ID, e protocol.Entry, by origin) {
	if !l.w.orderly || l.w.now-l.wordAt < obedience {
		return
	}
	switch {
	case pausedAt(l.v, max(e.Instant, by.registryTime())) && e.Trigger == "":
		l.w.breach("pause", "%s: item %d run %s begins in a paused job", by, e.Item, runName(e))
	case e.Item < len(l.v.Items) && l.v.Items[e.Item].Disabled:
		l.w.breach("disabled items", "%s: item %d run %s begins, though it is disabled", by, e.Item, runName(e))
	case banned(l.v, id):
		l.w.breach("disabled servers", "%s: item %d run %s begins on a disabled server", by, e.Item, runName(e))
	}
}

// obeyed checks the result of a change of conditions, if no other change came after it.
func (l *ledger) obeyed(since int64) func() {
	return func() {
		v := l.v
		if l.wordAt != since || l.w.now < l.killed+l.w.timeout+2*upkeep {
			return
		}
		foreignAlone := l.onlyForeignKnow(v)
		able := slices.ContainsFunc(v.Instances, func(in protocol.Instance) bool {
			m, ours := l.w.member(in.ID), alive(v, in.ID)
			return !banned(v, in.ID) && (!ours || !foreignAlone && m != nil && m.since+upkeep <= l.w.now) // a member that has only just come will elect
		})
		if able && (v.Leader == "" || banned(v, v.Leader)) {
			l.w.breach("disabled servers", "the leader is %q long after a server was disabled or enabled", v.Leader)
		}
		for _, m := range l.w.up() {
			if m.st.Self() != "" && m.period != period(v.Config.Cron) {
				l.w.breach("config", "%s still goes by another cron than %s", m.name(), v.Config.Cron)
			}
		}
		for i, it := range v.Items {
			if it.Running != 0 && !v.Config.MonitorExecution {
				l.w.breach("marks", "item %d is marked as running though nothing is monitored", i)
			}
		}
	}
}

// paused reports whether the job is paused even by the slowest clock of a member.
func (l *ledger) paused() bool { return pausedAt(l.v, l.w.registryTime()-l.w.profile.skew) }

// idle reports whether the owner may begin the item if it is due: the job works, the
// item is free, and beside foreign members nothing is on its way.
func (l *ledger) idle(id protocol.ID, i int) bool {
	v := l.v
	if l.paused() || v.Necessary || v.Processing || banned(v, id) || ownerOf(v, i) != id || len(v.Assignment.Departing) > 0 || i >= len(v.Items) || registered(v, id) == nil {
		return false
	}
	if i >= v.Config.Total { // beyond the total; the leader, which may just have died, has not removed it yet
		return false
	}
	it := v.Items[i]
	r := recordOf(v, id)
	n := l.w.options.MaxUnstored
	return it.Owner == id && !it.Disabled && it.Failover == "" && !it.Abandoned && r != nil && (n == 0 || len(r.Rows) < n) &&
		(!shared(v) || v.Config.MonitorExecution && !l.sessions[it.Running] && (v.Sealed || !theyLead(v)) && !unadopted(v) && len(v.Pending) == 0)
}

// expect checks that the owner begins what is due on its clock or, if a run is open,
// marks the misfire.
func (l *ledger) expect(m *member, at int64) {
	id, life := m.st.Self(), m.life
	for i := range l.v.Assignment.Owners {
		if !l.idle(id, i) || lastOf(l.v, i) >= at || pausedAt(l.v, at) {
			continue
		}
		open := entryOf(l.v, id, i)
		if open != nil && !l.v.Config.Misfire || m.begins(i) {
			continue
		}
		asked := l.w.now
		l.w.after(prompt, func() {
			// Something disturbed the cluster, or the item may not or need not begin any
			// more.
			if l.unrest+prompt >= asked || m.life != life || !m.up || m.leaving || !l.idle(id, i) || lastOf(l.v, i) >= at {
				return
			}
			switch now := entryOf(l.v, id, i); {
			case open == nil && now == nil:
				l.w.breach("prompt", "instant %d of item %d came due at %s, which did not begin it", sinceStart(at), i, m.name())
			case open != nil && now != nil && now.Same(*open) && !l.v.Items[i].Misfire:
				l.w.breach("misfire marks", "instant %d of item %d came due at %s during a run, and no mark says so", sinceStart(at), i, m.name())
			}
		})
	}
}

// begins reports whether a transaction on its way begins the item.
func (m *member) begins(i int) bool {
	if m.commit == nil {
		return false
	}
	b, ok := m.commit.m.(protocol.Begin)
	return ok && slices.Contains(b.Begun, i)
}

// waiting checks that an item that has misfired is compensated soon after its run.
func (l *ledger) waiting(old *protocol.View, by origin) {
	m, ok := by.m.(protocol.Complete)
	if !ok || !l.w.orderly {
		return
	}
	self, member := m.Self, by.member
	for _, i := range m.Items {
		if i >= len(old.Items) || !old.Items[i].Misfire || !l.v.Config.Misfire || !l.idle(self, i) {
			continue
		}
		asked, last, life := l.w.now, lastOf(l.v, i), member.life
		l.w.after(prompt, func() {
			if l.unrest+prompt < asked && member.up && member.life == life && !member.leaving && l.idle(self, i) && l.v.Items[i].Misfire && lastOf(l.v, i) == last && entryOf(l.v, self, i) == nil {
				l.w.breach("prompt", "item %d was not compensated by %s", i, self)
			}
		})
	}
}

// recovers checks that a member begins again the runs that self-fencing ended, once it
// trusts its session again.
func (l *ledger) recovers(m *member) {
	r := recordOf(l.v, m.st.Self())
	if !l.w.calm || r == nil {
		return
	}
	id, life := r.ID, m.life
	for _, e := range r.Open {
		l.w.after(2*upkeep, func() {
			now := entryOf(l.v, id, e.Item)
			if m.life != life || m.st == nil || m.loop.Doubt() != protocol.Trusted || forbidden(l.v, id, e, l.w.registryTime()) || m.leaving || m.ticked > e.Instant || now == nil || !now.Same(e) ||
				slices.ContainsFunc(m.guests, func(g *running) bool { return g.Item == e.Item }) {
				return
			}
			if state, ended := l.ended[attempt{keyOf(*now), now.Attempt}]; ended && state != protocol.Cancelled {
				return // it ran to its end, and its row is about to come
			}
			l.w.breach("prompt", "%s does not run item %d run %s again", m.name(), e.Item, runName(e))
		})
	}
}

// wanted checks that a pending run is taken while a member has a free slot.
func (l *ledger) wanted(m protocol.Reclaim) {
	if !l.w.orderly {
		return
	}
	asked := l.w.now
	for _, p := range m.Pend {
		l.w.after(prompt, func() { l.taken(p, asked) })
	}
}

// taken checks that a run that has been pending since then does not wait while a member has
// a free slot.
func (l *ledger) taken(p protocol.Pending, since int64) {
	v := l.v
	k := slices.IndexFunc(v.Pending, func(q protocol.Pending) bool { return q.Entry.Same(p.Entry) })
	if k < 0 || p.After != 0 || l.wordAt > since-obedience || !v.Config.Failover || l.paused() || p.Item >= len(v.Items) || v.Items[p.Item].Disabled {
		return
	}
	busy := false
	for _, o := range l.w.up() {
		r := recordOf(v, o.st.Self())
		if r == nil || o.leaving || banned(v, r.ID) || o.ticked > p.Entry.Instant {
			continue
		}
		switch n := l.w.options.Slots; {
		case n != 0 && len(r.Open) >= n:
		case n != 0 && o.freed+prompt > l.w.now && l.w.now < since+30*prompt: // its slots were full until a moment ago
			busy = true
		default:
			l.w.breach("prompt", "%s does not take item %d, whose run %s waits", o.name(), p.Item, runName(p.Entry))
		}
	}
	if busy {
		l.w.after(prompt, func() { l.taken(p, since) })
	}
}

// entryOf returns the open run of the item in the member's record; nil if there is none.
func entryOf(v *protocol.View, id protocol.ID, i int) *protocol.Entry {
	r := recordOf(v, id)
	if r == nil {
		return nil
	}
	k := slices.IndexFunc(r.Open, func(e protocol.Entry) bool { return e.Item == i })
	if k < 0 {
		return nil
	}
	e := r.Open[k]
	return &e
}
