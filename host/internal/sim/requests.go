package sim

import (
	"fmt"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// A request in a member's instance node asks for one run of each item that the member owns
// at that moment, no matter which member owns it later. In the end each item has a run or a
// row. The run is named after the request, which shows that no item runs twice for it.

// asks records new requests and those that were withdrawn: a request that its member has
// not accepted goes with its node, or is replaced by a newer one.
func (l *ledger) asks(old *protocol.View, by origin) {
	for k := range old.Instances {
		was := &old.Instances[k]
		now := registered(l.v, was.ID)
		_, left := by.m.(protocol.Leave)
		if was.Request != 0 && (now == nil && !left || now != nil && now.Request != 0 && now.Request != was.Request) {
			l.unasked(old, was)
		}
	}
	for i, o := range old.Assignment.Owners {
		if ownerOf(l.v, i) != o {
			l.joined(i, registered(old, o), registered(l.v, ownerOf(l.v, i)))
		}
	}
	// A foreign member that was asked as well runs what the owner's node gives it. If its
	// request then goes with its instance before a member of ours adopts, no record has it.
	for i := range l.v.Items {
		if o := l.v.Items[i].Owner; l.foreignIDs[o] && (i >= len(old.Items) || old.Items[i].Owner != o) {
			l.joined(i, registered(l.v, ownerOf(l.v, i)), registered(l.v, o))
		}
	}
	for k := range l.v.Instances {
		in := &l.v.Instances[k]
		if was := registered(old, in.ID); in.Request == 0 || !alive(l.v, in.ID) || was != nil && was.Request == in.Request {
			continue
		}
		for i, o := range l.v.Assignment.Owners {
			if o == in.ID {
				l.owed[runKey{item: i, trigger: requestOf(in)}] = in.ID
			}
		}
	}
}

// joined handles an item that moves while its request waits: the new owner's request covers
// it, unless it has a run or a row already.
func (l *ledger) joined(i int, from, to *protocol.Instance) {
	if from == nil || to == nil || from.Request == 0 || to.Request == 0 {
		return
	}
	was, now := runKey{item: i, trigger: requestOf(from)}, runKey{item: i, trigger: requestOf(to)}
	if id, ok := l.owed[was]; ok && !l.traced(was) {
		delete(l.owed, was)
		if !l.foreignIDs[to.ID] { // foreign members keep no records
			l.owed[now] = id
		}
	}
}

// traced reports whether the request was accepted or declined for the item.
func (l *ledger) traced(key runKey) bool {
	if _, ok := l.final[key]; ok || l.opened[attempt{key, 1}] {
		return true
	}
	for k := range l.v.Runs {
		r := &l.v.Runs[k]
		if slices.ContainsFunc(r.Triggers, func(t protocol.Trigger) bool { return t.ID == key.trigger && slices.Contains(t.Items, key.item) }) {
			return true
		}
	}
	return false
}

// unasked forgets a request that went unaccepted: its items need no run.
func (l *ledger) unasked(v *protocol.View, in *protocol.Instance) {
	for i, o := range v.Assignment.Owners {
		if o == in.ID {
			delete(l.owed, runKey{item: i, trigger: requestOf(in)})
		}
	}
}

// requestOf names the request that was written to an instance, as runs do.
func requestOf(in *protocol.Instance) string { return fmt.Sprintf("t%d", in.Request) }

// answered checks that each requested item has a run with a row, or a row alone. A run that
// a foreign member took ends there without a row.
func (l *ledger) answered() {
	for key, id := range l.owed {
		if _, ok := l.final[key]; !ok && !l.took[key] {
			l.w.breach("requests", "%s was asked to run item %d by %s, and nothing tells what became of it", id, key.item, key.trigger)
			return
		}
	}
}

// accepted checks that an acknowledged request is in the records for every item of the
// member: as an open run, a waiting one, or a row.
func (l *ledger) accepted(self protocol.ID, old *protocol.View, by origin) {
	in := registered(old, self)
	if in == nil { // an operator has removed it after the member saw it
		in = registered(by.view, self)
	}
	for i, o := range by.view.Assignment.Owners {
		key := runKey{item: i, trigger: requestOf(in)} // other members may know it by the same name
		if _, owed := l.owed[key]; o == self && owed && !l.traced(key) {
			l.w.breach("triggers", "%s: the request has left no trace for item %d", by, i)
		}
	}
}

// triggerKept checks that a trigger which leaves a record has begun the item, or has a row.
func (l *ledger) triggerKept(id protocol.ID, t protocol.Trigger, i int, by origin) {
	e := protocol.Entry{Item: i, Instant: t.At, Trigger: t.ID}
	if r := recordOf(l.v, id); r != nil {
		for _, o := range r.Triggers {
			if o.ID == t.ID && slices.Contains(o.Items, i) {
				return
			}
		}
	}
	l.accounted(e, by)
}
