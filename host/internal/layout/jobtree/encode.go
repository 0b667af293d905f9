package jobtree

import (
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
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
		t.create(j.server(m.IP), j.dialect.Server(false))
	case protocol.PruneServers:
		for _, s := range v.Servers {
			if slices.Contains(m.IPs, s.IP) {
				t.delete(j.server(s.IP), t.seen("prune-servers/server", s.Version))
			}
		}
	case protocol.Contend:
		t.contend(m)
	case protocol.Withdraw:
		t.delete(j.place(m.Latch, m.Place), registry.AnyVersion)
	case protocol.Elect:
		t.elect(m.ID)
		t.delete(j.place(protocol.ElectionLatch, m.Place), registry.AnyVersion)
	case protocol.Abdicate:
		t.own(m.Self, m.Own)
		t.delete(j.at(NodeLeaderInstance), registry.AnyVersion)
	case protocol.MarkReshard:
		t.create(j.at(NodeNecessary), "")
	case protocol.Reshard:
		t.reshard(m)
	case protocol.Owners:
		t.owners(m)
	case protocol.Adopt:
		t.checkRuns("adopt/records", m.Check)
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
	case protocol.Again:
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
		t.stillAway("reclaim-foreign/away", m.Pend)
		t.pend(m.Pend)
	case protocol.Take:
		t.takeOver(m)
	case protocol.JoinRound:
		for _, i := range m.Items {
			t.create(j.vouched(m.Event, i), "")
		}
		if m.Next != nil {
			t.tell(m.Self, m.Next)
		}
	case protocol.Release:
		t.release(m)
	case protocol.SetFires:
		t.tell(m.Self, &m.Next)
	case protocol.Drop:
		t.own(m.Self, m.Own)
		t.unpend(m.Items)
	case protocol.Disown:
		t.disown(m.Items)
		t.markReshard()
	case protocol.Leave:
		t.leave(m)
	case protocol.RequestTrigger:
		for _, id := range m.To {
			t.request("request-trigger/request", id, true)
		}
	case protocol.SetPaused:
		t.present(j.at(NodePaused), m.Paused)
	case protocol.DisableItem:
		t.present(j.Item(m.Item, MarkDisabled), m.Disabled)
	case protocol.DisableServer:
		t.disableServer(m)
	case protocol.Define:
		t.define(m)
	case protocol.Publish:
		t.op(registry.Set, j.member(m.Member.ID), []byte(spelling.EncodeMember(m.Member, m.Ready)), registry.AnyVersion)
	case protocol.Switch:
		t.switchModule()
	case protocol.PutConfig:
		t.fenced("put-config/config", j.dialect.SetConfig(j, m.Config, v.ConfigVersion)...)
	}
	t.op(registry.Set, j.at(NodeWasm), nil, registry.AnyVersion)
	return t.ops
}

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

func (j Job) vouched(e protocol.Event, i int) string {
	return j.at(roundNode(e)) + "/" + strconv.Itoa(i)
}

// parent is a node above others, and whether it is there.
type parent struct {
	there bool
	node  string
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

func (t *transaction) checkRuns(fence string, ids []job.InstanceID) {
	for _, id := range ids {
		t.check(fence, t.runsOf(id), t.version(id))
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
	t.op(registry.Set, t.runsOf(self), spelling.EncodeRuns(&d), t.seen("own/record", t.version(self)))
}

func (t *transaction) setup(m protocol.Setup) {
	d := t.v.Dirs
	if !d.Root {
		t.create(t.root, "")
	}
	if t.v.Config == nil {
		t.ops = append(t.ops, t.dialect.CreateConfig(t.Job, m.Config)...)
	}
	for _, n := range []parent{
		{d.Leader, NodeLeader}, {d.Election, NodeElection}, {d.Latch, NodeLatch}, {d.LeaderSharding, NodeLeaderSharding},
		{d.Servers, NodeServers}, {d.Instances, NodeInstances},
		{d.WasmNode, NodeWasm}, {d.Members, NodeMembers}, {d.Runs, NodeRuns},
	} {
		if !n.there {
			t.create(t.at(n.node), "")
		}
	}
	if t.v.Config == nil && m.Module != nil && !d.Module {
		t.op(registry.Create, t.at(NodeModule), spelling.Bytes(m.Module), 0)
	}
	if !d.Wasm {
		t.op(registry.Create, t.at(NodeAssignment), spelling.EncodeAssignment(&protocol.Assignment{}), 0)
	}
}

// define sets what differs, and checks what the change was derived from.
func (t *transaction) define(m protocol.Define) {
	config := t.dialect.CheckConfig(t.Job, t.v.ConfigVersion)
	if m.Config != nil {
		config = t.dialect.SetConfig(t.Job, m.Config, t.v.ConfigVersion)
	}
	t.fenced("define/config", config...)
	module := registry.Op{Kind: registry.Check, Path: t.at(NodeModule), Version: t.seen("define/module", nodeVersion(t.v.ModuleVersion))}
	switch {
	case !t.v.Dirs.Module && m.Module == nil:
		module.Kind = registry.Absent
	case !t.v.Dirs.Module:
		module.Kind, module.Data = registry.Create, spelling.Bytes(m.Module)
	case m.Module != nil:
		module.Kind, module.Data = registry.Set, spelling.Bytes(m.Module)
	}
	t.ops = append(t.ops, module)
}

// switchModule lets the next module be the one that runs, if nobody has joined
// since who may not have it.
func (t *transaction) switchModule() {
	t.nobodyJoined("switch/joins")
	t.op(registry.Set, t.at(NodeModule), definition.Switched(spelling.Bytes(t.v.Definition.Module)), t.seen("switch/module", nodeVersion(t.v.ModuleVersion)))
}

// nobodyJoined: the members of ours are those that were seen, or fewer.
func (t *transaction) nobodyJoined(fence string) {
	t.check(fence, t.at(NodeMembers), t.v.Dirs.MembersV)
}

func (t *transaction) join(m protocol.Join) {
	ip := m.ID.IP()
	if !slices.ContainsFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {
		t.create(t.server(ip), t.dialect.Server(m.Disabled))
	}
	t.ephemeral(t.Instance(m.ID), t.dialect.Instance(m.ID))
	t.ephemeral(t.member(m.ID), spelling.EncodeMember(m, protocol.Ready{}))
	t.op(registry.Set, t.at(NodeMembers), nil, registry.AnyVersion)
	t.op(registry.Create, t.runsOf(m.ID), spelling.EncodeRuns(&protocol.RunsData{Idle: protocol.Idle{Unattended: m.Unattended}}), 0)
	t.markReshard()
}

func (t *transaction) reshard(m protocol.Reshard) {
	t.checkLead("reshard/lead")
	t.checkRuns("reshard/records", m.Check)
	t.unasked("reshard/requests", m.Moving)
	t.setAssignment("reshard/epoch", &m.Next)
	if t.v.Sealed {
		t.delete(t.seal(), registry.AnyVersion) // of another leader's deal
	}
	if m.Self != "" {
		t.own(m.Self, m.Own)
	}
	if m.Parts {
		// Nobody has joined since. The set makes the mark another than one that a
		// leader of ElasticJob takes away and somebody makes anew, in version 0:
		// the parts that follow must not touch what that one dealt.
		t.op(registry.Set, t.at(NodeNecessary), nil, t.seen("reshard-parts/joins", t.v.NecessaryV))
		if m.Pause && !t.v.Processing {
			t.ephemeral(t.at(NodeProcessing), "")
		}
		t.strip(m.Strip)
		return
	}
	if !t.v.Dirs.Sharding {
		t.create(t.at(NodeSharding), "")
	}
	for i, owner := range m.Next.Owners {
		t.owner(i, owner)
	}
	t.surplus(m.Remove, m.Clear)
	t.resharded("reshard/joins")
}

// owners is a part of a reshard: it holds for the assignment that it spells.
func (t *transaction) owners(m protocol.Owners) {
	t.checkLead("owners/lead")
	t.checkAssignment("owners/epoch")
	if !m.Last {
		t.check("owners/joins", t.at(NodeNecessary), t.v.NecessaryV) // nobody else has dealt since
	}
	if len(m.Strip) > 0 {
		t.strip(m.Strip)
		return
	}
	if !t.v.Dirs.Sharding {
		t.create(t.at(NodeSharding), "")
	}
	for _, i := range m.Write {
		t.owner(i, t.v.Assignment.Owners[i])
	}
	t.surplus(m.Remove, m.Clear)
	if m.Last {
		t.resharded("owners-last/joins")
	}
}

// release deletes a round.
func (t *transaction) release(m protocol.Release) {
	r := roundOf(t.v, m.Event)
	for _, i := range r.Items {
		t.delete(t.vouched(m.Event, i), registry.AnyVersion)
	}
	for _, name := range r.Strays { // as ElasticJob, which deletes whatever is there
		t.delete(t.at(roundNode(m.Event))+"/"+name, registry.AnyVersion)
	}
	t.delete(t.at(roundNode(m.Event)), registry.AnyVersion)
}

// tell sets how far the listeners of fires have been told.
func (t *transaction) tell(self job.InstanceID, next *protocol.Fires) {
	t.checkRuns("set-fires/own", []job.InstanceID{self})
	if t.v.Fires.Exists {
		t.op(registry.Set, t.at(NodeFires), spelling.EncodeFires(next), t.seen("set-fires/fires", t.v.Fires.Version))
	} else {
		t.op(registry.Create, t.at(NodeFires), spelling.EncodeFires(next), 0)
	}
}

// unasked: nothing was asked of the instances since.
func (t *transaction) unasked(fence string, ids []job.InstanceID) {
	for _, in := range t.v.Instances {
		if slices.Contains(ids, in.ID) {
			t.fenced(fence, t.dialect.Unasked(t.Job, in)...)
		}
	}
}

// seal is the mark of an adoption. It stands where ElasticJob's deal, which deletes
// all owners' nodes with what is below them, takes it away.
func (j Job) seal() string { return j.Item(0, MarkSeal) }

// checkSeal: the seal that was seen, if there was one, is still there.
func (t *transaction) checkSeal(fence string) bool {
	if t.v.Sealed {
		t.check(fence, t.seal(), registry.AnyVersion)
	}
	return t.v.Sealed
}

// strip deletes the nodes of owners, in the versions that were seen.
func (t *transaction) strip(items []int) {
	for _, i := range items {
		t.delete(t.Item(i, MarkInstance), t.seen("strip/owners", t.v.Items[i].OwnerVer))
	}
}

// checkOwners: the nodes of owners are as they were seen.
func (t *transaction) checkOwners(fence string, items []int) {
	for _, i := range items {
		t.check(fence, t.Item(i, MarkInstance), t.v.Items[i].OwnerVer)
	}
}

// owner brings the node of an item in line with the assignment.
func (t *transaction) owner(i int, owner job.InstanceID) {
	var it protocol.Item
	if i < len(t.v.Items) {
		it = t.v.Items[i]
	}
	if !it.Exists {
		t.create(t.Item(i, ""), "")
	}
	switch {
	case it.Owner == "":
		t.create(t.Item(i, MarkInstance), string(owner))
	case it.Owner != owner:
		t.op(registry.Set, t.Item(i, MarkInstance), []byte(owner), t.seen("owners/owner", it.OwnerVer))
	}
}

func (t *transaction) surplus(remove, keep []int) {
	for _, i := range remove {
		t.clearItem(i)
		t.delete(t.Item(i, ""), registry.AnyVersion)
	}
	for _, i := range keep {
		t.clearItem(i)
	}
}

// resharded takes the marks away, if nobody has joined since.
func (t *transaction) resharded(fence string) {
	t.delete(t.at(NodeNecessary), t.seen(fence, t.v.NecessaryV))
	if t.v.Processing {
		t.delete(t.at(NodeProcessing), registry.AnyVersion)
	}
}

// clearMarks deletes marks that no open run justifies.
func (t *transaction) clearMarks(m protocol.ClearMarks) {
	// Carried out late, it must not take the mark of a run begun since.
	if t.checkRuns("clear-marks/records", m.Check); !slices.Contains(m.Check, m.Self) {
		t.checkRuns("clear-marks/own", []job.InstanceID{m.Self})
	}
	if len(m.Check) > 0 {
		t.nobodyJoined("clear-marks/joins")
	}
	for _, i := range m.Running {
		t.delete(t.Item(i, MarkRunning), registry.AnyVersion)
	}
	for _, i := range m.Failover {
		t.delete(t.Item(i, MarkFailover), registry.AnyVersion)
	}
}

// clearItem deletes what is ours below an item.
func (t *transaction) clearItem(i int) {
	it := t.v.Items[i]
	for _, n := range []struct {
		there bool
		mark  string
	}{
		{it.Owner != "", MarkInstance}, {it.Running != 0 || it.RunningP, MarkRunning}, {it.Misfire, MarkMisfire},
		{it.Disabled, MarkDisabled}, {it.Failover != "", MarkFailover},
	} {
		if n.there {
			t.delete(t.Item(i, n.mark), registry.AnyVersion)
		}
	}
}

func (t *transaction) begin(m protocol.Begin) {
	t.checkAssignment("begin/epoch")
	t.own(m.Self, m.Own)
	if m.Shared {
		t.checkOwners("begin/owners", m.Begun)
		if sealed := t.checkSeal("begin/seal"); !sealed && t.v.Leader != "" {
			t.checkLead("begin/lead")
		}
	}
	if m.Monitor {
		for _, i := range m.Begun {
			t.ops = append(t.ops, t.dialect.Running(t.Job, m.Self, i))
		}
	}
	for _, i := range m.Unmark {
		t.delete(t.Item(i, MarkMisfire), registry.AnyVersion)
	}
	t.unpend(m.Unpend)
	if m.Ack {
		t.request("begin/request", m.Self, false)
	}
}

// request asks an instance to begin, or takes what was asked of it.
func (t *transaction) request(fence string, id job.InstanceID, asked bool) {
	for _, in := range t.v.Instances {
		if in.ID == id {
			t.fenced(fence, t.dialect.Request(t.Job, in, asked)...)
		}
	}
}

// unpend deletes pending runs as they were seen. Somebody else may have named one
// since that said nothing but its item, and that run would be lost.
func (t *transaction) unpend(items []int) {
	for _, i := range items {
		version := registry.AnyVersion
		if p := pendingIn(t.v.Pending, i); p != nil {
			version = t.seen("unpend/pending", p.Version)
		}
		t.delete(t.pendingItem(i), version)
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
			t.delete(t.Item(i, MarkRunning), registry.AnyVersion)
		}
		if it.Failover == self && it.FOOwner == session {
			t.delete(t.Item(i, MarkFailover), registry.AnyVersion)
		}
	}
}

func (t *transaction) reclaim(m protocol.Reclaim) {
	if m.Rest != nil {
		t.op(registry.Set, t.runsOf(m.Dead), spelling.EncodeRuns(m.Rest), t.seen("reclaim/dead", t.version(m.Dead)))
	} else {
		t.delete(t.runsOf(m.Dead), t.seen("reclaim/dead", t.version(m.Dead)))
	}
	t.setAssignment("reclaim/epoch", &m.Next)
	t.own(m.Self, m.Own)
	t.checkRuns("reclaim/records", m.Check)
	t.pend(m.Pend)
}

// stillAway: the members that had the runs have not come back. Before their
// instances they write the nodes of their servers.
func (t *transaction) stillAway(fence string, all []protocol.Pending) {
	for _, s := range t.v.Servers {
		if slices.ContainsFunc(all, func(p protocol.Pending) bool { return p.Dead.IP() == s.IP }) {
			t.check(fence, t.server(s.IP), s.Version)
		}
	}
}

// pend makes runs pending.
func (t *transaction) pend(all []protocol.Pending) {
	if len(all) == 0 {
		return
	}
	if !t.v.Dirs.Failover {
		t.create(t.at(NodeFailover), "")
	}
	if !t.v.Dirs.FailoverItems {
		t.create(t.at(NodeFailoverItems), "")
	}
	for k := range all {
		kind, version := registry.Create, int32(0)
		if pendingIn(t.v.Pending, all[k].Item) != nil {
			kind, version = registry.Set, registry.AnyVersion // a member of ElasticJob made it, and wrote nothing
		}
		t.op(kind, t.pendingItem(all[k].Item), spelling.EncodePending(&all[k]), version)
	}
}

// contend makes a place in a queue, and what is missing above it.
func (t *transaction) contend(m protocol.Contend) {
	d := t.v.Dirs
	node, above := NodeLatch, []parent{{d.Leader, NodeLeader}, {d.Election, NodeElection}, {d.Latch, NodeLatch}}
	if m.Latch == protocol.FailoverLatch {
		node, above = NodeFailoverLatch, []parent{{d.Leader, NodeLeader}, {d.Failover, NodeFailover}, {d.FailoverLatch, NodeFailoverLatch}}
	}
	for _, p := range above {
		if !p.there {
			t.create(t.at(p.node), "")
		}
	}
	t.op(registry.CreateEphemeralSequential, t.at(node)+"/"+spelling.LatchPrefix+m.Token+"-"+spelling.LatchName, nil, 0)
}

// place is a node of a queue.
func (j Job) place(l protocol.Latch, name string) string {
	if l == protocol.FailoverLatch {
		return j.at(NodeFailoverLatch) + "/" + name
	}
	return j.at(NodeLatch) + "/" + name
}

func (t *transaction) takeOver(m protocol.Take) {
	t.checkAssignment("take/epoch")
	t.own(m.Self, m.Own)
	t.unpend(m.Items)
	for _, i := range m.Items {
		t.ephemeral(t.Item(i, MarkFailover), string(m.Self))
		if m.Monitor {
			t.ops = append(t.ops, t.dialect.Running(t.Job, m.Self, i))
		}
	}
	if m.Place != "" {
		t.delete(t.place(protocol.FailoverLatch, m.Place), registry.AnyVersion)
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

func (t *transaction) disableServer(m protocol.DisableServer) {
	for _, s := range t.v.Servers {
		if s.IP == m.IP {
			t.op(registry.Set, t.server(m.IP), []byte(t.dialect.Server(m.Disabled)), t.seen("disable-server/server", s.Version))
		}
	}
}
