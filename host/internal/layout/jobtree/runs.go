package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// clearMarks deletes marks of items without an open run: those of the member itself and, if
// no record in Check has changed, those that nobody holds.
func (t *transaction) clearMarks(m protocol.ClearMarks) {
	// A late write must not delete the mark of a run that has begun since.
	if t.checkRuns("clear-marks/records", m.Check); !slices.Contains(m.Check, m.Self) {
		t.checkRuns("clear-marks/own", []job.InstanceID{m.Self})
	}
	if len(m.Check) > 0 {
		t.noneJoined("clear-marks/joins")
	}
	if t.added != nil && t.added.Failovering {
		t.notBegunElsewhere(m)
	}
	for _, i := range m.Running {
		t.delete(t.Item(i, MarkRunning), t.seen("clear-marks/begun", t.v.Items[i].RunningVer))
	}
	for _, i := range m.Failover {
		t.deleteTaken(i)
	}
}

// notBegunElsewhere checks that no member of ElasticJob has deleted a mark that outlived
// its member, and begun the item with a mark of its own. Since the former owner was gone,
// that member would have taken the item, or a leader would have assigned it again. If it
// had taken the item before, it has not given it back, and has not written over the mark.
// The former owner itself may come back, and begin the item again.
func (t *transaction) notBegunElsewhere(m protocol.ClearMarks) {
	stray := func(i int) bool { return t.v.Items[i].Abandoned }
	if !slices.ContainsFunc(m.Running, stray) {
		return
	}
	t.notAssigned("clear-marks/assigned")
	var dead []job.InstanceID
	for _, i := range m.Running {
		if !stray(i) {
			continue
		}
		it := t.v.Items[i]
		taken := registry.Op{Kind: registry.Check, Path: t.Item(i, MarkFailover), Version: registry.AnyVersion}
		if it.Failover == "" || it.Nodes.Has(onlyFailovering) {
			taken.Kind, taken.Version = registry.Absent, 0
		}
		t.fenced("clear-marks/taken", taken)
		dead = append(dead, it.AbandonedBy)
	}
	t.stillAway("clear-marks/away", dead)
}

// notAssigned checks that no leader of ElasticJob has assigned the items again since the
// view: it would delete the seal. Without a seal, ElasticJob must not have begun to lead.
func (t *transaction) notAssigned(fence string) {
	if sealed := t.checkSeal(fence); !sealed && t.v.Leader != "" {
		t.checkLead(fence)
	}
}

// begin writes runs of own items into the record, with their marks. It is refused if an
// item has moved: the assignment has changed or, with foreign members, ElasticJob has
// assigned since.
func (t *transaction) begin(m protocol.Begin) {
	t.checkAssignment("begin/epoch")
	t.own(m.Self, m.Own)
	if m.Shared {
		t.checkOwners("begin/owners", m.Begun)
		if sealed := t.checkSeal("begin/seal"); !sealed && t.v.Leader != "" {
			t.checkLead("begin/lead")
		}
		// The owner's node of item 0 is checked already if that item begins.
		if len(m.Begun) > 0 && !slices.Contains(m.Begun, 0) {
			t.checkFirst("begin/first")
		}
	}
	if m.Monitor {
		for _, i := range m.Begun {
			t.running(m.Self, i)
		}
		t.beginsRound(m.Self, m.Own, m.Begun, m.Next)
	}
	for _, i := range m.Unmark {
		t.delete(t.Item(i, MarkMisfire), registry.AnyVersion)
	}
	t.checkRuns("begin/records", m.Check)
	if m.Shared && len(m.DeletePending) > 0 {
		t.noneJoined("begin/joins")
	}
	t.deletePending(m.DeletePending)
	t.backfilled(m.Backfilled)
	if m.Ack {
		t.request("begin/request", m.Self, false)
	}
}

// deletePending deletes pending runs in the versions that were seen. ElasticJob creates
// such a node without a run. If a member of ours has put a run into it since, that run
// would be lost.
func (t *transaction) deletePending(items []int) {
	for _, i := range items {
		version := registry.AnyVersion
		if p := pendingIn(t.v.Pending, i); p != nil {
			version = t.seen("delete-pending/pending", p.Version)
		}
		t.delete(t.pendingItem(i), version)
	}
}

// unmark deletes the member's own marks of ended runs. A mark that another session holds is
// another member's.
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
		if it.Failover == self && it.TakerSession == session {
			t.deleteTaken(i)
		}
	}
}

// running marks an item as running.
func (t *transaction) running(self job.InstanceID, item int) {
	t.ops = append(t.ops, t.dialect.Running(t.Job, self, item, t.v.Config != nil && t.v.Config.Failover))
}

// taken marks an item as taken. In some layouts a second mark outlives the taker's session.
func (t *transaction) taken(self job.InstanceID, item int) {
	t.ephemeral(t.Item(item, MarkFailover), t.nameOf(self))
	if t.added != nil && t.added.Failovering {
		t.create(t.Item(item, MarkFailovering), string(self))
	}
}

// deleteTaken deletes the marks of an item that was taken, as far as they exist.
func (t *transaction) deleteTaken(item int) {
	there := t.v.Items[item].Nodes
	if !there.Has(onlyFailovering) {
		t.delete(t.Item(item, MarkFailover), registry.AnyVersion)
	}
	if there.Has(failovering) {
		t.delete(t.Item(item, MarkFailovering), registry.AnyVersion)
	}
}

// reclaim makes the open runs of a dead member pending, in a new epoch. It deletes the
// member's record, or leaves in it what did not fit into the transaction.
func (t *transaction) reclaim(m protocol.Reclaim) {
	if m.Rest != nil {
		t.op(registry.Set, t.runsOf(m.Dead), spelling.EncodeRuns(m.Rest), t.seen("reclaim/dead", t.version(m.Dead)))
	} else {
		t.delete(t.runsOf(m.Dead), t.seen("reclaim/dead", t.version(m.Dead)))
	}
	t.setAssignment("reclaim/epoch", &m.Next)
	t.own(m.Self, m.Own)
	t.checkRuns("reclaim/records", m.Check)
	t.pend(m.Pend, m.Unmark...)
}

// deadOf returns the members that had these runs.
func deadOf(all []protocol.Pending) []job.InstanceID {
	ids := make([]job.InstanceID, len(all))
	for k := range all {
		ids[k] = all[k].Dead
	}
	return ids
}

// stillAway adds fences that hold unless one of these foreign members has come back. A
// foreign member that comes back writes its server's node before its instance's node, or
// creates it if an operator has deleted it.
func (t *transaction) stillAway(fence string, members []job.InstanceID) {
	var ips []string
	for _, id := range members {
		if ip := id.IP(); id.Validate() == nil && !slices.Contains(ips, ip) { // no member has an invalid id
			ips = append(ips, ip)
		}
	}
	for _, ip := range ips {
		k := slices.IndexFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip })
		if k < 0 {
			t.fenced(fence, registry.Op{Kind: registry.Absent, Path: t.server(ip)})
			continue
		}
		t.check(fence, t.server(ip), t.v.Servers[k].Version)
	}
}

// pend makes runs pending. It deletes the marks that dead members have left of these items,
// and of others, whose runs get rows.
func (t *transaction) pend(all []protocol.Pending, others ...int) {
	if len(all) > 0 {
		t.makeParents(NodeFailover, NodeFailoverItems)
	}
	for k := range all {
		kind, version := registry.Create, int32(0)
		if pendingIn(t.v.Pending, all[k].Item) != nil {
			kind, version = registry.Set, registry.AnyVersion // a member of ElasticJob created it without a run
		}
		t.op(kind, t.pendingItem(all[k].Item), spelling.EncodePending(&all[k]), version)
		others = append(others, all[k].Item)
	}
	t.unmarkDead(others)
}

// unmarkDead deletes the marks that dead members have left of runs that become pending or
// get a row, in layouts where marks outlive sessions: members of ElasticJob would take the
// items for running. A mark of the same name may belong to another run by now. A taker
// creates its failover mark before it creates the running mark again, so the failover mark
// must not exist, and the items must not have been assigned again. If the view shows a
// failover mark, the item had been taken before, and the taker's marks are cleared when its
// own run is decided.
func (t *transaction) unmarkDead(items []int) {
	if t.added == nil || !t.added.Failovering {
		return
	}
	// The taker of the item is gone, and only the mark that outlives its session names it.
	left := func(it protocol.Item) bool { return it.Nodes.Has(onlyFailovering) && it.TakerSession == 0 }
	unmarks := func(i int) bool {
		return i < len(t.v.Items) && (left(t.v.Items[i]) || t.v.Items[i].Abandoned && t.v.Items[i].Failover == "")
	}
	if !slices.ContainsFunc(items, unmarks) {
		return
	}
	t.notAssigned("pend/assigned")
	for _, i := range items {
		if !unmarks(i) {
			continue
		}
		t.fenced("pend/taken", registry.Op{Kind: registry.Absent, Path: t.Item(i, MarkFailover)})
		if t.v.Items[i].Abandoned {
			t.delete(t.Item(i, MarkRunning), registry.AnyVersion)
		}
		if left(t.v.Items[i]) {
			t.delete(t.Item(i, MarkFailovering), registry.AnyVersion)
		}
	}
}

// takeOver writes the begin of pending runs: into the record, with their marks in place of
// the pending runs' nodes.
func (t *transaction) takeOver(m protocol.Take) {
	t.checkAssignment("take/epoch")
	t.own(m.Self, m.Own)
	t.checkRuns("take/records", m.Check)
	t.deletePending(m.Items)
	for _, i := range m.Items {
		t.taken(m.Self, i)
		if m.Monitor {
			t.running(m.Self, i)
		}
	}
	if m.Monitor {
		t.beginsRound(m.Self, m.Own, m.Items, m.Next)
	}
	if m.Place != "" {
		t.delete(t.place(protocol.FailoverLatch, m.Place), registry.AnyVersion)
	}
}
