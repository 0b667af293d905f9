package jobtree

import (
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

func roundNode(e protocol.Event) string {
	if e == protocol.FireStarted {
		return NodeStarted
	}
	return NodeCompleted
}

func roundOf(v *protocol.View, e protocol.Event) protocol.Round {
	if e == protocol.FireStarted {
		return v.Guarantee.Started
	}
	return v.Guarantee.Completed
}

func (j Job) roundItem(e protocol.Event, i int) string {
	return j.at(roundNode(e)) + "/" + strconv.Itoa(i)
}

// release deletes a round.
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

// setFires records up to which fire the listeners were called.
func (t *transaction) setFires(self job.InstanceID, next *protocol.Fires) {
	t.checkRuns("set-fires/own", []job.InstanceID{self})
	t.putFires(next)
}

// follow records that jobs run after this one.
func (t *transaction) follow() {
	next := t.v.Fires
	next.Followed = true
	t.putFires(&next)
}

func (t *transaction) putFires(next *protocol.Fires) {
	if t.v.Fires.Exists {
		t.op(registry.Set, t.at(NodeFires), spelling.EncodeFires(next), t.seen("set-fires/fires", t.v.Fires.Version))
	} else {
		t.op(registry.Create, t.at(NodeFires), spelling.EncodeFires(next), 0)
	}
}
