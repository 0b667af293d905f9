package jobtree

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// roundNode returns the node of the round of an event.
func roundNode(e protocol.Event) string {
	if e == protocol.FireStarted {
		return NodeStarted
	}
	return NodeCompleted
}

// roundOf returns the round of an event in a view.
func roundOf(v *protocol.View, e protocol.Event) protocol.Round {
	if e == protocol.FireStarted {
		return v.Guarantee.Started
	}
	return v.Guarantee.Completed
}

func (j Job) roundItem(e protocol.Event, i int) string {
	return j.at(roundNode(e)) + "/" + strconv.Itoa(i)
}

// release deletes a round: its items' nodes, then its own. Foreign members that wait in it
// go on then.
func (t *transaction) release(m protocol.Release) {
	r := roundOf(t.v, m.Event)
	for _, i := range r.Items {
		t.delete(t.roundItem(m.Event, i), registry.AnyVersion)
	}
	for _, name := range r.Strays { // ElasticJob, too, deletes all that is there
		t.delete(t.at(roundNode(m.Event))+"/"+name, registry.AnyVersion)
	}
	t.delete(t.at(roundNode(m.Event)), registry.AnyVersion)
}

// setFires records for which instants the listeners were called. It is refused if the
// member's record has changed since.
func (t *transaction) setFires(self job.InstanceID, next *protocol.Fires) {
	t.checkRuns("set-fires/own", []job.InstanceID{self})
	t.putFires(next)
}

// follow records that jobs run after this one, so that its members count how its instants
// end.
func (t *transaction) follow() {
	next := t.v.Fires
	next.Followed = true
	t.putFires(&next)
}

// putFires writes the node with the calls of listeners, in the version that was seen.
func (t *transaction) putFires(next *protocol.Fires) {
	if t.v.Fires.Exists {
		t.op(registry.Set, t.at(NodeFires), spelling.EncodeFires(next), t.seen("set-fires/fires", t.v.Fires.Version))
	} else {
		t.op(registry.Create, t.at(NodeFires), spelling.EncodeFires(next), 0)
	}
}
