package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// starts checks the start of a guest: its member trusts the session, its run is the
// newest of the item and has no final row, and no other guest of the item runs.
func (l *ledger) starts(g *running) {
	l.given(g.Entry, g.m.name())
	if quiet := l.w.now - g.m.acked; quiet >= g.m.s.timeout/2 {
		l.w.breach("self-fencing", "%s starts item %d though the registry has been silent for %d ms", g.m.name(), g.Item, quiet/millisecond)
	}
	if b := l.begun[g.Item]; b.id != g.m.st.Self() || !b.entry.Same(g.Entry) {
		l.w.breach("newest begin", "%s starts item %d run %s#%d, but the newest begin is %s#%d of %s", g.m.name(), g.Item, runName(g.Entry), g.Attempt, runName(b.entry), b.entry.Attempt, b.id)
	}
	if f, ok := l.final[keyOf(g.Entry)]; ok {
		l.w.breach("no run after its row", "%s starts item %d run %s after its row %s#%d", g.m.name(), g.Item, runName(g.Entry), f.State, f.Attempt)
	}
	others := slices.DeleteFunc(l.guests[g.Item], func(o *running) bool { return o.over })
	for _, o := range others {
		// A frozen process cannot end its guests, and with Finish a member does not.
		if !o.m.frozen && (!l.w.options.Finish || o.session.alive) {
			l.w.breach("no double run", "item %d run %s starts at %s while run %s runs at %s", g.Item, runName(g.Entry), g.m.name(), runName(o.Entry), o.m.name())
		}
	}
	l.guests[g.Item] = append(others, g)
	l.writes(g)
}

// writes passes a guest's token to a sink, which keeps the newest and refuses older ones.
func (l *ledger) writes(g *running) {
	switch b := l.begun[g.Item]; {
	case g.fence < l.token[g.Item]:
		l.refusedWrites++
		if b.entry.Same(g.Entry) && b.id == g.m.st.Self() {
			l.w.breach("tokens", "the newest run of item %d has an old token", g.Item)
		}
	default:
		l.token[g.Item] = g.fence
	}
}

// cancels checks that a process does not end a guest whose run is open while its session
// is healthy. An instance that an operator has removed must end its guests.
func (l *ledger) cancels(g *running, hard bool) {
	m := g.m
	r := recordOf(l.v, m.st.Self())
	if r == nil || !hard || m.loop.Doubt() != protocol.Trusted || !m.s.alive || !slices.ContainsFunc(r.Open, g.Same) || registered(m.st.View(), m.st.Self()) == nil {
		return
	}
	l.w.breach("no needless cancel", "%s ends the guest of item %d run %s#%d, whose record is there", m.name(), g.Item, runName(g.Entry), g.Attempt)
}

// registered returns the instance of that id; nil if the view shows none.
func registered(v *protocol.View, id protocol.ID) *protocol.Instance {
	for k := range v.Instances {
		if v.Instances[k].ID == id {
			return &v.Instances[k]
		}
	}
	return nil
}
