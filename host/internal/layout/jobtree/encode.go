package jobtree

import (
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Encode spells a mutation, decided on view v, as one transaction. It deletes only nodes
// that the view shows, and creates only others. The last operation sets "wasm", so the
// receipt has the transaction's revision.
func (j Job) Encode(m protocol.Mutation, v *protocol.View) []registry.Op {
	t := &transaction{Job: j, v: v}
	switch m := m.(type) {
	case protocol.Setup:
		t.setup(m)
	case protocol.Join:
		t.join(m)
	case protocol.SetServer:
		t.create(j.server(m.IP), j.dialect.Server(false))
	case protocol.PruneServers:
		t.pruneServers(m)
	case protocol.Contend:
		t.contend(m)
	case protocol.Withdraw:
		t.delete(j.place(m.Latch, m.Place), registry.AnyVersion)
	case protocol.Elect:
		t.elect(m.ID)
		t.delete(j.place(protocol.ElectionLatch, m.Place), registry.AnyVersion)
	case protocol.Abdicate:
		t.own(m.Self, m.Own)
		t.endLead("abdicate/lead")
	case protocol.MarkReshard:
		t.create(j.at(NodeNecessary), "")
	case protocol.Reshard:
		t.reshard(m)
	case protocol.Owners:
		t.owners(m)
	case protocol.Adopt:
		t.checkRuns("adopt/records", m.Check)
		t.noneJoined("adopt/joins")
		t.unasked("adopt/requests", m.Moving)
		t.checkOwners("adopt/owners", m.Items)
		if !t.checkSeal("adopt/seal") {
			t.create(t.seal(), "")
		}
		t.setAssignment("adopt/epoch", &m.Next)
		if m.Self != "" {
			t.own(m.Self, m.Own)
		}
	case protocol.ClearProcessing:
		t.delete(j.at(NodeProcessing), registry.AnyVersion)
	case protocol.Begin:
		t.begin(m)
	case protocol.Complete:
		t.own(m.Self, m.Own)
		t.unmark(m.Self, m.Items)
		t.endsRound(m.Self, m.Own, m.Items)
	case protocol.NextAttempt:
		t.own(m.Self, m.Own)
	case protocol.Forget:
		t.own(m.Self, m.Own)
	case protocol.RecordMissed:
		t.recordMissed(m)
	case protocol.RecordTaken:
		t.own(m.Self, m.Own)
	case protocol.Account:
		t.own(m.Self, m.Own)
		if m.Next != nil {
			t.setAssignment("account/epoch", m.Next)
		}
		t.pend(m.Pend)
	case protocol.MarkMisfire:
		for _, i := range m.Items {
			t.create(j.Item(i, MarkMisfire), "")
		}
	case protocol.ClearMarks:
		t.clearMarks(m)
	case protocol.Reclaim:
		t.reclaim(m)
	case protocol.ReclaimForeign:
		t.setAssignment("reclaim-foreign/epoch", &m.Next)
		t.own(m.Self, m.Own)
		t.checkRuns("reclaim-foreign/records", m.Check)
		t.stillAway("reclaim-foreign/away", deadOf(m.Pend))
		t.pend(m.Pend)
	case protocol.Take:
		t.takeOver(m)
	case protocol.JoinRound:
		for _, i := range m.Items {
			t.create(j.roundItem(m.Event, i), "")
		}
		if m.Next != nil {
			t.setFires(m.Self, m.Next)
		}
	case protocol.Release:
		t.release(m)
	case protocol.SetFires:
		t.setFires(m.Self, &m.Next)
	case protocol.Follow:
		t.follow()
	case protocol.Drop:
		t.own(m.Self, m.Own)
		t.checkAssignment("drop/epoch")
		t.checkRuns("drop/records", m.Check)
		t.deletePending(m.Items)
	case protocol.DeleteOwners:
		t.deleteSealedOwners(m.Items)
		t.markReshard()
	case protocol.Leave:
		t.leave(m)
	case protocol.RequestTrigger:
		t.requestAll(m.To)
	case protocol.SetPaused:
		t.setPaused(m)
	case protocol.DisableItem:
		t.present(j.Item(m.Item, MarkDisabled), m.Disabled)
	case protocol.DisableServer:
		t.disableServer(m)
	case protocol.Define:
		t.define(m)
	case protocol.Count:
		t.count(m)
	case protocol.Publish:
		t.op(registry.Set, j.member(m.Member.ID), []byte(spelling.EncodeMember(m.Member, m.Ready)), registry.AnyVersion)
	case protocol.Switch:
		t.switchModule()
	case protocol.PutBackfill:
		t.putBackfill(m.Queues)
	case protocol.DropBackfill:
		t.dropBackfill(m.Items)
	case protocol.PutConfig:
		t.fenced("put-config/config", j.dialect.SetConfig(j, v.Definition.Config, m.Config, v.ConfigVersion)...)
	}
	t.op(registry.Set, j.at(NodeWasm), nil, registry.AnyVersion)
	return t.ops
}

type transaction struct {
	Job
	v   *protocol.View
	ops []registry.Op
}

func (t *transaction) op(k registry.OpKind, path string, data []byte, version int32) {
	t.ops = append(t.ops, registry.Op{Kind: k, Path: path, Data: data, Version: version})
}

func (t *transaction) create(path, data string) {
	t.op(registry.Create, path, []byte(data), 0)
}

func (t *transaction) ephemeral(path, data string) {
	t.op(registry.CreateEphemeral, path, []byte(data), 0)
}

func (t *transaction) delete(path string, version int32) {
	t.op(registry.Delete, path, nil, version)
}

func (t *transaction) checkAssignment(fence string) {
	t.check(fence, t.at(NodeAssignment), t.v.Assignment.Version)
}

func (t *transaction) setAssignment(fence string, a *protocol.Assignment) {
	t.op(registry.Set, t.at(NodeAssignment), spelling.EncodeAssignment(a), t.seen(fence, t.v.Assignment.Version))
}

// checkRuns checks that the records of these members are as they were seen.
func (t *transaction) checkRuns(fence string, ids []job.InstanceID) {
	for _, id := range ids {
		t.check(fence, t.runsOf(id), t.version(id))
	}
}

// version returns the version of a member's record in the view. For a member without a
// record it is a version that no node has, so a transaction that checks it is refused.
func (t *transaction) version(id job.InstanceID) int32 {
	for k := range t.v.Runs {
		if t.v.Runs[k].ID == id {
			return t.v.Runs[k].Version
		}
	}
	return impossibleVersion
}

const impossibleVersion = 1<<31 - 1

// own sets the record of the member that sends the transaction, always in the version that
// was read.
func (t *transaction) own(self job.InstanceID, d protocol.RunsData) {
	t.op(registry.Set, t.runsOf(self), spelling.EncodeRuns(&d), t.seen("own/record", t.version(self)))
}

// setPaused pauses the job, changes the details of its pause, or resumes it.
func (t *transaction) setPaused(m protocol.SetPaused) {
	path, value := t.at(NodePaused), spelling.EncodePause(m.Pause)
	switch {
	case !m.Paused:
		t.delete(path, registry.AnyVersion)
	case t.v.Paused:
		t.op(registry.Set, path, value, registry.AnyVersion)
	default:
		t.create(path, string(value))
	}
}

// present creates or deletes a mark.
func (t *transaction) present(path string, want bool) {
	if want {
		t.create(path, "")
	} else {
		t.delete(path, registry.AnyVersion)
	}
}
