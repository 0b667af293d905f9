package layout

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Encode spells a mutation, decided on view v, as one transaction. It deletes
// nothing that the view does not show and creates nothing that it shows. The
// last operation sets "wasm", so that the receipt tells the revision.
func (j Job) Encode(m protocol.Mutation, v *protocol.View) []registry.Op {
	t := &transaction{Job: j, v: v}
	switch m := m.(type) {
	case protocol.Setup:
		t.setup(m)
	case protocol.Join:
		t.join(m)
	case protocol.SetServer:
		t.create(j.server(m.IP), "")
	case protocol.PruneServers:
		for _, s := range v.Servers {
			if slices.Contains(m.IPs, s.IP) {
				t.delete(j.server(s.IP), s.Version)
			}
		}
	case protocol.Elect:
		t.ephemeral(j.at(nodeLeaderInstance), string(m.ID))
	case protocol.Abdicate:
		t.own(m.Self, m.Own)
		t.delete(j.at(nodeLeaderInstance), registry.AnyVersion)
	case protocol.MarkReshard:
		t.create(j.at(nodeNecessary), "")
	case protocol.Reshard:
		t.reshard(m)
	case protocol.Owners:
		t.owners(m)
	case protocol.Begin:
		t.begin(m)
	case protocol.Complete:
		t.own(m.Self, m.Own)
		t.unmark(m.Self, m.Items)
	case protocol.Again:
		t.own(m.Self, m.Own)
	case protocol.Forget:
		t.own(m.Self, m.Own)
	case protocol.Account:
		t.own(m.Self, m.Own)
	case protocol.MarkMisfire:
		for _, i := range m.Items {
			t.create(j.item(i, markMisfire), "")
		}
	case protocol.ClearMarks:
		// Carried out late, it must not take the mark of a run begun since.
		if t.checkRuns(m.Check); !slices.Contains(m.Check, m.Self) {
			t.checkRuns([]job.InstanceID{m.Self})
		}
		for _, i := range m.Running {
			t.delete(j.item(i, markRunning), registry.AnyVersion)
		}
		for _, i := range m.Failover {
			t.delete(j.item(i, markFailover), registry.AnyVersion)
		}
	case protocol.Enqueue:
		t.enqueue(m)
	case protocol.Take:
		t.takeOver(m)
	case protocol.Tell:
		t.checkRuns([]job.InstanceID{m.Self})
		if v.Fires.Exists {
			t.op(registry.Set, j.at(nodeFires), encodeFires(&m.Next), v.Fires.Version)
		} else {
			t.op(registry.Create, j.at(nodeFires), encodeFires(&m.Next), 0)
		}
	case protocol.Drop:
		t.own(m.Self, m.Own)
		t.unpend(m.Items)
	case protocol.Leave:
		t.leave(m)
	case protocol.RequestTrigger:
		for _, id := range m.To {
			t.setInstance(id, valueTrigger)
		}
	case protocol.SetPaused:
		t.present(j.at(nodePaused), m.Paused)
	case protocol.DisableItem:
		t.present(j.item(m.Item, markDisabled), m.Disabled)
	case protocol.DisableServer:
		t.disableServer(m)
	case protocol.Define:
		t.define(m)
	case protocol.Publish:
		t.op(registry.Set, j.member(m.Member.ID), []byte(encodeMember(m.Member, m.Ready)), registry.AnyVersion)
	case protocol.Switch:
		t.switchModule()
	case protocol.PutConfig:
		t.op(registry.Set, j.at(nodeConfig), m.Data, v.ConfigVersion)
	}
	t.op(registry.Set, j.at(nodeWasm), nil, registry.AnyVersion)
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

func (t *transaction) checkAssignment() {
	t.op(registry.Check, t.at(nodeAssignment), nil, t.v.Assignment.Version)
}

func (t *transaction) setAssignment(a *protocol.Assignment) {
	t.op(registry.Set, t.at(nodeAssignment), encodeAssignment(a), t.v.Assignment.Version)
}

func (t *transaction) checkRuns(ids []job.InstanceID) {
	for _, id := range ids {
		t.op(registry.Check, t.runsOf(id), nil, t.version(id))
	}
}

// version of a member's record as the view shows it. A member without record
// yields one that no node has.
func (t *transaction) version(id job.InstanceID) int32 {
	for k := range t.v.Runs {
		if t.v.Runs[k].ID == id {
			return t.v.Runs[k].Version
		}
	}
	return impossibleVersion
}

const impossibleVersion = 1<<31 - 1

// own sets the member's record, always against the version it was read with.
func (t *transaction) own(self job.InstanceID, d protocol.RunsData) {
	t.op(registry.Set, t.runsOf(self), encodeRuns(&d), t.version(self))
}

func (t *transaction) setup(m protocol.Setup) {
	d := t.v.Dirs
	if !d.Root {
		t.create(t.root, "")
	}
	if t.v.Config == nil {
		t.op(registry.Create, t.at(nodeConfig), m.Config, 0)
	}
	for _, n := range []struct {
		there bool
		node  string
	}{
		{d.Leader, nodeLeader}, {d.Election, nodeElection}, {d.Latch, nodeLatch}, {d.LeaderSharding, nodeLeaderSharding},
		{d.Servers, nodeServers}, {d.Instances, nodeInstances},
		{d.WasmNode, nodeWasm}, {d.Members, nodeMembers}, {d.Runs, nodeRuns},
	} {
		if !n.there {
			t.create(t.at(n.node), "")
		}
	}
	if t.v.Config == nil && len(m.Module) > 0 && !d.Module {
		t.op(registry.Create, t.at(nodeModule), m.Module, 0)
	}
	if !d.Wasm {
		t.op(registry.Create, t.at(nodeAssignment), encodeAssignment(&protocol.Assignment{}), 0)
	}
}

// define sets what differs, and checks what the change was derived from.
func (t *transaction) define(m protocol.Define) {
	config := registry.Op{Kind: registry.Check, Path: t.at(nodeConfig), Version: t.v.ConfigVersion}
	if m.Config != nil {
		config.Kind, config.Data = registry.Set, m.Config
	}
	module := registry.Op{Kind: registry.Check, Path: t.at(nodeModule), Version: t.v.ModuleVersion}
	switch {
	case !t.v.Dirs.Module && m.Module == nil:
		module.Kind = registry.Absent
	case !t.v.Dirs.Module:
		module.Kind, module.Data = registry.Create, m.Module
	case m.Module != nil:
		module.Kind, module.Data = registry.Set, m.Module
	}
	t.ops = append(t.ops, config, module)
}

// switchModule lets the next module be the one that runs. Each Join touches the
// reshard mark, so nobody has joined since who may not have it.
func (t *transaction) switchModule() {
	t.checkAssignment() // who joins is dealt to: nobody has come and been dealt to since
	if t.v.Necessary {
		t.op(registry.Check, t.at(nodeNecessary), nil, t.v.NecessaryV)
	} else {
		t.op(registry.Absent, t.at(nodeNecessary), nil, 0)
	}
	t.op(registry.Set, t.at(nodeModule), switched(t.v.Module), t.v.ModuleVersion)
}

func (t *transaction) join(m protocol.Join) {
	ip := m.ID.IP()
	if !slices.ContainsFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {
		value := ""
		if m.Disabled {
			value = valueDisabled
		}
		t.create(t.server(ip), value)
	}
	t.ephemeral(t.Instance(m.ID), "")
	t.ephemeral(t.member(m.ID), encodeMember(m, protocol.Ready{}))
	t.op(registry.Create, t.runsOf(m.ID), encodeRuns(&protocol.RunsData{}), 0)
	if t.v.Necessary {
		t.op(registry.Set, t.at(nodeNecessary), nil, registry.AnyVersion)
	} else {
		t.create(t.at(nodeNecessary), "")
	}
}

func (t *transaction) reshard(m protocol.Reshard) {
	t.checkRuns(m.Check)
	for _, in := range t.v.Instances {
		if slices.Contains(m.Moving, in.ID) {
			t.op(registry.Check, t.Instance(in.ID), nil, in.Version) // nothing was asked of it since
		}
	}
	t.setAssignment(&m.Next)
	if m.Self != "" {
		t.own(m.Self, m.Own)
	}
	if m.Parts {
		t.op(registry.Check, t.at(nodeNecessary), nil, t.v.NecessaryV) // nobody has joined since
		return
	}
	if !t.v.Dirs.Sharding {
		t.create(t.at(nodeSharding), "")
	}
	for i, owner := range m.Next.Owners {
		t.owner(i, owner)
	}
	t.surplus(m.Remove, m.Clear)
	t.resharded()
}

// owners is a part of a reshard: it holds for the assignment that it spells.
func (t *transaction) owners(m protocol.Owners) {
	t.checkAssignment()
	if !t.v.Dirs.Sharding {
		t.create(t.at(nodeSharding), "")
	}
	for _, i := range m.Write {
		t.owner(i, t.v.Assignment.Owners[i])
	}
	t.surplus(m.Remove, m.Clear)
	if m.Last {
		t.resharded()
	}
}

// owner brings the node of an item in line with the assignment.
func (t *transaction) owner(i int, owner job.InstanceID) {
	var it protocol.Item
	if i < len(t.v.Items) {
		it = t.v.Items[i]
	}
	if !it.Exists {
		t.create(t.item(i, ""), "")
	}
	switch {
	case it.Owner == "":
		t.create(t.item(i, markInstance), string(owner))
	case it.Owner != owner:
		t.op(registry.Set, t.item(i, markInstance), []byte(owner), it.OwnerVer)
	}
}

func (t *transaction) surplus(remove, keep []int) {
	for _, i := range remove {
		t.clearItem(i)
		t.delete(t.item(i, ""), registry.AnyVersion)
	}
	for _, i := range keep {
		t.clearItem(i)
	}
}

// resharded takes the marks away.
func (t *transaction) resharded() {
	t.delete(t.at(nodeNecessary), t.v.NecessaryV) // nobody has joined since
	if t.v.Processing {
		t.delete(t.at(nodeProcessing), registry.AnyVersion)
	}
}

// clearItem deletes what is ours below an item.
func (t *transaction) clearItem(i int) {
	it := t.v.Items[i]
	for _, n := range []struct {
		there bool
		mark  string
	}{
		{it.Owner != "", markInstance}, {it.Running != 0 || it.RunningP, markRunning}, {it.Misfire, markMisfire},
		{it.Disabled, markDisabled}, {it.Failover != "", markFailover},
	} {
		if n.there {
			t.delete(t.item(i, n.mark), registry.AnyVersion)
		}
	}
}

func (t *transaction) begin(m protocol.Begin) {
	t.checkAssignment()
	t.own(m.Self, m.Own)
	if m.Monitor {
		for _, i := range m.Begun {
			t.ephemeral(t.item(i, markRunning), "")
		}
	}
	for _, i := range m.Unmark {
		t.delete(t.item(i, markMisfire), registry.AnyVersion)
	}
	t.unpend(m.Unpend)
	if m.Ack {
		t.setInstance(m.Self, "")
	}
}

func (t *transaction) setInstance(id job.InstanceID, value string) {
	for _, in := range t.v.Instances {
		if in.ID == id {
			t.op(registry.Set, t.Instance(id), []byte(value), in.Version)
		}
	}
}

func (t *transaction) unpend(items []int) {
	for _, i := range items {
		t.delete(t.pendingItem(i), registry.AnyVersion)
	}
}

// unmark deletes the marks of ended runs that are the member's own.
func (t *transaction) unmark(self job.InstanceID, items []int) {
	var session int64
	for _, m := range t.v.Members {
		if m.ID == self {
			session = m.Owner
		}
	}
	for _, i := range items {
		if i >= len(t.v.Items) {
			continue
		}
		it := t.v.Items[i]
		if it.Running == session && session != 0 {
			t.delete(t.item(i, markRunning), registry.AnyVersion)
		}
		if it.Failover == self && it.FOOwner == session {
			t.delete(t.item(i, markFailover), registry.AnyVersion)
		}
	}
}

func (t *transaction) enqueue(m protocol.Enqueue) {
	if m.Rest != nil {
		t.own(m.Dead, *m.Rest)
	} else {
		t.delete(t.runsOf(m.Dead), t.version(m.Dead))
	}
	t.setAssignment(&m.Next)
	t.own(m.Self, m.Own)
	t.checkRuns(m.Check)
	if len(m.Pend) == 0 {
		return
	}
	if !t.v.Dirs.Failover {
		t.create(t.at(nodeFailover), "")
	}
	if !t.v.Dirs.FailoverItems {
		t.create(t.at(nodeFailoverItems), "")
	}
	for k := range m.Pend {
		t.op(registry.Create, t.pendingItem(m.Pend[k].Item), encodePending(&m.Pend[k]), 0)
	}
}

func (t *transaction) takeOver(m protocol.Take) {
	t.checkAssignment()
	t.own(m.Self, m.Own)
	t.unpend(m.Items)
	for _, i := range m.Items {
		t.ephemeral(t.item(i, markFailover), string(m.Self))
		if m.Monitor {
			t.ephemeral(t.item(i, markRunning), "")
		}
	}
}

func (t *transaction) leave(m protocol.Leave) {
	t.delete(t.runsOf(m.Self), t.version(m.Self))
	t.setAssignment(&m.Next)
	if t.v.Leader == m.Self {
		t.delete(t.at(nodeLeaderInstance), registry.AnyVersion)
	}
	for _, in := range t.v.Instances {
		if in.ID == m.Self {
			t.delete(t.Instance(m.Self), in.Version) // nothing was asked of it since
		}
	}
	t.delete(t.member(m.Self), registry.AnyVersion)
}

// present creates or deletes a mark.
func (t *transaction) present(path string, want bool) {
	if want {
		t.create(path, "")
	} else {
		t.delete(path, registry.AnyVersion)
	}
}

func (t *transaction) disableServer(m protocol.DisableServer) {
	value := ""
	if m.Disabled {
		value = valueDisabled
	}
	for _, s := range t.v.Servers {
		if s.IP == m.IP {
			t.op(registry.Set, t.server(m.IP), []byte(value), s.Version)
		}
	}
}
