package jobtree

import (
	"maps"
	"slices"
	"strconv"

	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// ByAddress spells which members take part in layouts that identify them by their
// addresses.
type ByAddress struct{}

// Register returns the creation of the node with which a member takes part while its
// session lives.
func (ByAddress) Register(j Job, id job.InstanceID) []registry.Op {
	return []registry.Op{{Kind: registry.CreateEphemeral, Path: j.Instance(id), Data: []byte(servertree.Ready)}}
}

// Unregister returns the deletion of that node. A request to the member has a node of its
// own, which goes as well. The transaction is refused if a request has come since the view.
func (b ByAddress) Unregister(j Job, in protocol.Instance) []registry.Op {
	end := registry.Op{Kind: registry.Delete, Path: j.Instance(in.ID), Version: registry.AnyVersion}
	if in.Request != 0 {
		return append(b.Request(j, in, false), end)
	}
	return append(b.Unasked(j, in), end)
}

// Server returns the value of a server's node, which is empty in these layouts.
func (ByAddress) Server(bool) string { return "" }

// Disabled is false: not the value of a server's node disables it, but nodes below it.
func (ByAddress) Disabled(registry.Node) bool { return false }

// Running marks an item as running. The mark ends with the session.
func (ByAddress) Running(j Job, _ job.InstanceID, item int, _ bool) registry.Op {
	return registry.Op{Kind: registry.CreateEphemeral, Path: j.Item(item, MarkRunning), Data: []byte{}}
}

// Requested is false: a request is not a value of the member's node.
func (ByAddress) Requested(registry.Node) bool { return false }

// Request asks a member to begin, by a node of its own, or deletes that node. If one exists
// already, the member has still to see it, so Request only checks that it stays.
func (b ByAddress) Request(j Job, in protocol.Instance, asked bool) []registry.Op {
	path := j.requestTo(in.ID)
	switch {
	case asked && in.Request != 0:
		return b.Unasked(j, in)
	case asked:
		return []registry.Op{there(j, in), {Kind: registry.Create, Path: path, Data: []byte{}}}
	}
	return []registry.Op{{Kind: registry.Delete, Path: path, Version: registry.AnyVersion}}
}

// Unasked makes the registry refuse the transaction if a request has come or gone since the
// view. A request outlives its member, so the member is checked as well.
func (ByAddress) Unasked(j Job, in protocol.Instance) []registry.Op {
	kind := registry.Absent
	if in.Request != 0 {
		kind = registry.Check
	}
	return []registry.Op{there(j, in), {Kind: kind, Path: j.requestTo(in.ID), Version: registry.AnyVersion}}
}

// there checks that the member at an address takes part. It need not be the same member: a
// successor asks for a reshard when it joins.
func there(j Job, in protocol.Instance) registry.Op {
	return registry.Op{Kind: registry.Check, Path: j.Instance(in.ID), Version: registry.AnyVersion}
}

// serverOf returns the server of an address in the view; a zero one if there is none.
func (t *transaction) serverOf(ip string) (s protocol.Server) {
	if k := slices.IndexFunc(t.v.Servers, func(s protocol.Server) bool { return s.IP == ip }); k >= 0 {
		s = t.v.Servers[k]
	}
	return s
}

func hasPart(s protocol.Server, part string) bool { return s.Nodes.Has(slices.Index(parts, part)) }

// arrive creates the nodes below the server of a joining member, and deletes a request to
// the former member at the address. It disables only a server that is new: afterwards,
// operators decide.
func (t *transaction) arrive(m protocol.Join) {
	if !t.byAddress() {
		return
	}
	s := t.serverOf(m.ID.IP())
	if !hasPart(s, partHost) {
		t.create(t.part(m.ID.IP(), partHost), m.ID.IP())
	}
	if m.Disabled && s.IP == "" {
		t.create(t.part(m.ID.IP(), partDisabled), "")
	}
	if hasPart(s, partTrigger) {
		t.delete(t.part(s.IP, partTrigger), registry.AnyVersion)
	}
}

// disablePart writes or removes an operator's setting of a server. To enable the server, it
// deletes all nodes that keep it from its items, such as a pause.
func (t *transaction) disablePart(s protocol.Server, disabled bool) {
	if disabled {
		if !hasPart(s, partDisabled) {
			t.create(t.part(s.IP, partDisabled), "")
		}
		return
	}
	for _, part := range keptOut {
		if hasPart(s, part) {
			t.delete(t.part(s.IP, part), registry.AnyVersion)
		}
	}
}

// deleteParts deletes the nodes below that of a server.
func (t *transaction) deleteParts(s protocol.Server) {
	for k, part := range parts {
		if s.Nodes.Has(k) {
			t.delete(t.part(s.IP, part), registry.AnyVersion)
		}
	}
}

// listed reports whether an item, whose node exists, is in the list of an address.
func (t *transaction) listed(i int, ip string) bool {
	return i < len(t.v.Items) && t.v.Items[i].Exists && t.v.Items[i].Owner.IP() == ip
}

// lists writes the lists of items of the servers between which items move, or of all
// servers. owners are the owners of all items from now on. A list names only items that
// move to it or are in it already. Any other item may still be in a list that is not
// written now, and would then be in two.
func (t *transaction) lists(owners []job.InstanceID, moved []int, all bool) {
	if !t.byAddress() {
		return
	}
	lists := map[string][]int{}
	for _, s := range t.v.Servers {
		lists[s.IP] = nil // a server without items has an empty list
	}
	for i, owner := range owners {
		if all || slices.Contains(moved, i) || t.listed(i, owner.IP()) {
			lists[owner.IP()] = append(lists[owner.IP()], i)
		}
	}
	touched := func(ip string) bool {
		return all || slices.ContainsFunc(moved, func(i int) bool {
			return owners[i].IP() == ip || i < len(t.v.Items) && t.v.Items[i].Owner.IP() == ip
		})
	}
	for _, ip := range slices.Sorted(maps.Keys(lists)) {
		if touched(ip) {
			t.put(t.part(ip, partItems), hasPart(t.serverOf(ip), partItems), servertree.FormatItems(lists[ip]))
		}
	}
}

// beginsRound writes what members of layouts 2.0 and 1 write at the begin of items, in
// addition to their marks: their status, and for each item when it began and when the job
// fires next. own is the member's record with the new runs. next is the job's next instant;
// 0: the node with it is out of date.
func (t *transaction) beginsRound(self job.InstanceID, own protocol.RunsData, items []int, next int64) {
	if !t.byAddress() || len(items) == 0 {
		return
	}
	t.status(self, servertree.RunsNow)
	for _, i := range items {
		it := t.v.Items[i]
		if it.Nodes.Has(completed) {
			t.delete(t.Item(i, markCompleted), registry.AnyVersion)
		}
		for k := range own.Open {
			if own.Open[k].Item == i {
				t.put(t.Item(i, markLastBegin), it.Nodes.Has(lastBegin), decimal(own.Open[k].Begun))
			}
		}
		switch there := it.Nodes.Has(nextFire); {
		case next != 0:
			t.put(t.Item(i, markNextFire), there, decimal(next))
		case there:
			t.delete(t.Item(i, markNextFire), registry.AnyVersion)
		}
	}
}

// endsRound writes what members of layouts 2.0 and 1 write at the end of items, if
// execution is monitored: for each that it has ended, and when. own is the member's record
// with the new rows.
func (t *transaction) endsRound(self job.InstanceID, own protocol.RunsData, items []int) {
	if !t.byAddress() || t.v.Config == nil || !t.v.Config.MonitorExecution {
		return
	}
	if len(own.Open) == 0 { // nothing else runs here
		t.status(self, servertree.Ready)
	}
	for _, i := range items {
		if i >= len(t.v.Items) || !t.v.Items[i].Exists {
			continue
		}
		it := t.v.Items[i]
		if !it.Nodes.Has(completed) {
			t.create(t.Item(i, markCompleted), "")
		}
		for _, r := range slices.Backward(own.Rows) { // rows of earlier runs may not be stored yet
			if r.Item == i && r.Ended != 0 {
				t.put(t.Item(i, markLastEnd), it.Nodes.Has(lastEnd), decimal(r.Ended))
				break
			}
		}
	}
}

// count writes how many elements a member has handled.
func (t *transaction) count(m protocol.Count) {
	ip, s := m.Self.IP(), t.serverOf(m.Self.IP())
	t.put(t.part(ip, partHandled), hasPart(s, partHandled), decimal(m.Handled.Succeeded))
	t.put(t.part(ip, partFailed), hasPart(s, partFailed), decimal(m.Handled.Failed))
}

// status writes whether a member runs items, if the view shows its node: an operator may
// have ended the member by deleting it, and another process may have created one.
func (t *transaction) status(self job.InstanceID, value string) {
	if slices.ContainsFunc(t.v.Instances, func(in protocol.Instance) bool { return in.ID == self }) {
		t.op(registry.Set, t.Instance(self), []byte(value), registry.AnyVersion)
	}
}

// put creates or sets a node.
func (t *transaction) put(path string, there bool, value string) {
	kind := registry.Create
	if there {
		kind = registry.Set
	}
	t.op(kind, path, []byte(value), registry.AnyVersion)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
