package jobtree

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// noneJoined checks that no member of ours has joined since the view; some may have left.
func (t *transaction) noneJoined(fence string) {
	t.check(fence, t.at(NodeMembers), t.v.Joins)
}

// join registers a member: the nodes by which ElasticJob and members of ours know it, its
// record, and a mark for a reshard.
func (t *transaction) join(m protocol.Join) {
	ip := m.ID.IP()
	if !slices.ContainsFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip }) {
		t.create(t.server(ip), t.dialect.Server(m.Disabled))
	}
	if slices.Contains(t.v.Unanswered, m.ID) { // the request is to a former member with the same id
		t.delete(t.requestTo(m.ID), registry.AnyVersion)
	}
	t.arrive(m)
	t.ops = append(t.ops, t.dialect.Register(t.Job, m.ID)...)
	t.ephemeral(t.member(m.ID), spelling.EncodeMember(m, protocol.Ready{}))
	t.op(registry.Set, t.at(NodeMembers), nil, registry.AnyVersion)
	t.op(registry.Create, t.runsOf(m.ID), spelling.EncodeRuns(&protocol.RunsData{Idle: protocol.Idle{Unattended: m.Unattended}}), 0)
	t.markReshard()
}

// unasked checks that no request has come to these instances since the view.
func (t *transaction) unasked(fence string, ids []job.InstanceID) {
	for _, in := range t.v.Instances {
		if slices.Contains(ids, in.ID) {
			t.fenced(fence, t.dialect.Unasked(t.Job, in)...)
		}
	}
}

// pruneServers deletes the nodes of servers, unless one has changed since.
func (t *transaction) pruneServers(m protocol.PruneServers) {
	for _, s := range t.v.Servers {
		if slices.Contains(m.IPs, s.IP) {
			t.deleteParts(s)
			t.delete(t.server(s.IP), t.seen("prune-servers/server", s.Version))
		}
	}
}

// requestTo returns the node that asks a member to begin, if that is a node of its own.
func (j Job) requestTo(id job.InstanceID) string {
	if j.byAddress() {
		return j.part(id.IP(), partTrigger)
	}
	return j.at(NodeTrigger) + "/" + string(id)
}

// request asks an instance to begin, or takes the request back.
func (t *transaction) request(fence string, id job.InstanceID, asked bool) {
	for _, in := range t.v.Instances {
		if in.ID == id {
			t.fenced(fence, t.dialect.Request(t.Job, in, asked)...)
		}
	}
}

// requestAll asks instances to begin, and deletes requests to members that are gone. It is
// refused if items may have moved since to members that would not be asked: by an
// assignment of ours, or by one of ElasticJob, which deletes the seal.
func (t *transaction) requestAll(to []job.InstanceID) {
	if t.v.Assignment.Exists {
		t.checkAssignment("request-trigger/epoch")
	}
	if sealed := t.checkSeal("request-trigger/seal"); !sealed && t.v.Leader != "" {
		t.checkLead("request-trigger/lead")
	}
	for _, id := range t.v.Unanswered {
		t.fenced("request-trigger/gone", registry.Op{Kind: registry.Absent, Path: t.Instance(id)}) // unless it has come back, and was asked since
		t.delete(t.requestTo(id), registry.AnyVersion)
	}
	if t.added != nil && t.added.Trigger {
		t.makeParents(NodeTrigger)
	}
	for _, id := range to {
		t.request("request-trigger/request", id, true)
	}
}

// EndInstance ends a member by the node with which it takes part. If that node names only
// an address, the member itself is checked as well.
func (j Job) EndInstance(v *protocol.View, id job.InstanceID) []registry.Op {
	end := []registry.Op{{Kind: registry.Delete, Path: j.Instance(id), Version: registry.AnyVersion}}
	if j.byAddress() && slices.ContainsFunc(v.Members, func(m protocol.Member) bool { return m.ID == id }) {
		end = append(end, registry.Op{Kind: registry.Check, Path: j.member(id), Version: registry.AnyVersion})
	}
	return end
}

// disableServer writes an operator's setting of a server: into its node or, where members
// have only addresses, below it.
func (t *transaction) disableServer(m protocol.DisableServer) {
	for _, s := range t.v.Servers {
		switch {
		case s.IP != m.IP:
		case t.byAddress():
			t.disablePart(s, m.Disabled)
		default:
			t.op(registry.Set, t.server(m.IP), []byte(t.dialect.Server(m.Disabled)), t.seen("disable-server/server", s.Version))
		}
	}
}
