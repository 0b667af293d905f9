package sim

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Some fences matter only when three events meet: a pending run, a connection that is slow
// at the wrong moment, and an instant or a second death. By chance they meet once in a
// million seeds. The functions below bring them together.

// provokeRace slows the connection of a member whose transaction can be overtaken: one about a
// pending run of an item that another member owns and may begin, or about nodes that change
// meanwhile.
func (w *World) provokeRace(m *member, mu protocol.Mutation) {
	if c, ok := mu.(protocol.ClearMarks); ok && len(c.Check) > 0 && !w.calm && w.chance(0.5) {
		w.forestall(m)
	}
	if w.calm || !w.chance(w.profile.races) || w.ledger.v == nil || w.ledger.v.Config == nil {
		return
	}
	var owner *member
	owned := func(i int) bool {
		owner = w.known(ownerOf(w.ledger.v, i))
		return owner != nil && owner != m
	}
	longest := m.s.timeout * 9 / 10
	switch mu := mu.(type) {
	case protocol.Take:
		k := slices.IndexFunc(mu.Items, owned)
		if k < 0 {
			return
		}
		if m.s.timeout < 2*w.quickest() || w.chance(0.3) {
			w.slowLine(m, min(w.untilTick(owner)+w.between(5*millisecond, 40*millisecond), longest))
			return
		}
		w.slowLine(m, w.between(longest/3, longest))
		w.doom(mu.Items[k], m)
	case protocol.Reclaim:
		if slices.ContainsFunc(mu.Pend, func(p protocol.Pending) bool { return owned(p.Item) }) {
			w.slowLine(m, min(w.untilTick(owner)+w.between(5*millisecond, 60*millisecond), longest))
		}
	case protocol.Join:
		w.provokeJoinRace(m)
	case protocol.PruneServers:
		// An operator changes a server that is being removed.
		w.slowLine(m, w.between(5*millisecond, 60*millisecond))
		w.interfere(m, mu)
	case protocol.Reshard:
		// A member that is still named as an owner comes back while the items move.
		for _, o := range w.members {
			if !o.up && o.life > 0 && !o.retired && slices.ContainsFunc(w.ledger.v.Assignment.Owners, func(id protocol.ID) bool { return id.IP() == o.ip }) {
				o.start()
				w.slowLine(m, min(w.untilTick(o)+w.between(5*millisecond, 60*millisecond), longest))
				return
			}
		}
	case protocol.Begin:
		w.provokeBeginRace(m, mu)
	case protocol.Define:
		// The configuration changes before the transaction arrives.
		w.slowLine(m, w.between(5*millisecond, 60*millisecond))
		w.interfere(m, mu)
	case protocol.Switch:
		// A member joins before the transaction arrives, and another leader assigns items
		// to all.
		if k := slices.IndexFunc(w.members, func(o *member) bool { return !o.up && o.life > 0 && !o.retired }); k >= 0 {
			w.members[k].start()
			w.slowLine(m, w.between(longest/3, longest))
			w.laterIn(m, w.between(0, 30*millisecond), w.unseat)
		}
	case protocol.SetFires:
		// Another member leads and reports the fire before the transaction arrives.
		w.slowLine(m, w.between(30*millisecond, 300*millisecond))
		w.unseat()
	case protocol.Adopt, protocol.ReclaimForeign:
		// Before it arrives, a run begins, a member comes back, or the items are assigned
		// again.
		w.slowLine(m, min(w.untilTick(nil)+w.between(5*millisecond, 60*millisecond), longest))
		w.meddle()
	case protocol.Owners:
		// Another member leads, and assigns otherwise, before the part arrives.
		w.slowLine(m, w.between(30*millisecond, 300*millisecond))
		w.unseat()
		if o := w.up()[w.rng.IntN(len(w.up()))]; slices.ContainsFunc(w.ledger.v.Servers, func(s protocol.Server) bool { return s.IP == o.ip && !s.Disabled }) {
			w.tool(protocol.DisableServer{IP: o.ip, Disabled: true})
		}
	default:
	}
}

// provokeJoinRace makes a join arrive in another state than the member saw.
func (w *World) provokeJoinRace(m *member) {
	longest := m.s.timeout * 9 / 10
	// The session of its former life, which still holds the id that it wanted, ends just
	// before the join arrives, and the answer to the join is lost.
	if d := w.former(m) - w.now + w.between(20*millisecond, 500*millisecond); d > 0 && d < longest {
		w.slowLine(m, d)
		m.s.deafen = func() { w.laterIn(m, 0, func() { w.cut(m) }) }
		return
	}
	// Or the connection breaks while the transaction is on its way.
	d := w.between(20*millisecond, longest/2)
	w.slowLine(m, d)
	w.laterIn(m, w.between(0, d), func() { w.cut(m) })
}

// provokeBeginRace makes a begin meet another reshard, or a crash of its member.
func (w *World) provokeBeginRace(m *member, mu protocol.Begin) {
	if shared(w.ledger.v) && w.chance(0.3) {
		// Meanwhile the items are assigned again.
		w.slowLine(m, min(w.untilTick(nil)+w.between(5*millisecond, 300*millisecond), m.s.timeout/2))
		w.meddle()
		return
	}
	// The member crashes while one run of an item is open and another one waits.
	if slices.ContainsFunc(mu.Own.Retries, func(r protocol.Retry) bool { return slices.Contains(mu.Begun, r.Item) }) {
		w.laterIn(m, w.between(millisecond, 8*millisecond), func() { w.crash(m) })
	}
}

// forestall removes a mark without a session before the leader does. The leader's
// connection is so slow that the item begins in between, perhaps on a member that has
// only just joined, and got the item from another leader.
func (w *World) forestall(m *member) {
	n := w.tree.Get(w.stray)
	if !n.Exists || n.Stat.Owner != 0 {
		return
	}
	w.apply(nil, []registry.Op{{Kind: registry.Delete, Path: w.stray, Version: registry.AnyVersion}}, origin{what: "somebody takes a mark away"})
	w.slowLine(m, min(w.untilTick(nil)+w.between(5*millisecond, 60*millisecond), m.s.timeout*9/10))
	if k := slices.IndexFunc(w.members, func(o *member) bool { return !o.up && o.life > 0 && !o.retired }); k >= 0 {
		w.members[k].start()
		w.laterIn(m, w.between(0, 30*millisecond), w.unseat)
	}
}

// unseat deletes the leader's node, as an operator may.
func (w *World) unseat() {
	for _, op := range w.job.Encode(protocol.Abdicate{}, w.ledger.v) {
		if op.Kind == registry.Delete {
			w.apply(nil, []registry.Op{op}, origin{what: "tool removes the leader"})
		}
	}
}

// quickest returns the shortest session time-out of a member.
func (w *World) quickest() int64 {
	q := w.timeout
	for _, m := range w.members {
		q = min(q, m.timeout)
	}
	return q
}

// known returns the living member with an id.
func (w *World) known(id protocol.ID) *member {
	k := slices.IndexFunc(w.members, func(m *member) bool { return m.up && m.st != nil && m.st.Self() == id && id != "" })
	if k < 0 || !alive(w.ledger.v, id) {
		return nil
	}
	return w.members[k]
}

// former returns when the session ends in which the member's former life had its id; 0
// if there is none. Until then the id is in use.
func (w *World) former(m *member) int64 {
	id := protocol.ID(fmt.Sprintf("%s@-@%d", m.ip, m.pid))
	for _, o := range w.ledger.v.Members {
		for _, s := range w.live {
			if o.ID == id && int64(s.id) == o.Owner && s != m.s {
				return s.lastContact + s.timeout
			}
		}
	}
	return 0
}

// waitingOwner returns a living owner of an item that the session's member still runs;
// nil if there is none. That owner waits for the run.
func (w *World) waitingOwner(s *session) *member {
	v := w.ledger.v
	for _, m := range v.Members {
		if m.Owner != int64(s.id) {
			continue
		}
		if r := recordOf(v, m.ID); r != nil {
			for _, e := range r.Open {
				if o := w.known(ownerOf(v, e.Item)); o != nil && ownerOf(v, e.Item) != m.ID {
					return o
				}
			}
		}
	}
	return nil
}

// untilTick returns the time until the next instant on a member's clock, or, without a
// member, on a correct clock.
func (w *World) untilTick(m *member) int64 {
	p, now := period(w.ledger.v.Config.Cron)*millisecond, w.now
	if p == 0 {
		return second // nothing comes due
	}
	if m != nil {
		now += m.offset * millisecond
	}
	return p - now%p
}

// slowLine delays what the member sends from now on by d.
func (w *World) slowLine(m *member, d int64) {
	w.tracef("%s: its line is slow for %d ms", m.name(), d/millisecond)
	m.s.toServer = max(m.s.toServer, w.now+d)
}

// doom makes the next member that runs the item crash at once, unless that member is
// but.
func (w *World) doom(i int, but *member) {
	w.doomed[i] = but
	w.after(but.s.timeout, func() { delete(w.doomed, i) })
}

// dooms reports whether the member crashes as a guest starts: because of doom, or by
// chance if it has taken the run over while the item's owner is there.
func (w *World) dooms(m *member, e protocol.Entry) bool {
	if w.calm {
		return false
	}
	if but := w.doomed[e.Item]; but != nil && but != m {
		delete(w.doomed, e.Item)
		m.s.overdrawn = true // its session will end soon
		return true
	}
	o := w.known(ownerOf(w.ledger.v, e.Item))
	return e.Attempt > 1 && o != nil && o != m && w.chance(w.profile.races)
}
