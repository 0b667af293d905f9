package jobtree

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Decoder turns changed nodes into the protocol's facts. It changes a copy of the last
// view.
type Decoder struct {
	j         Job
	v         *protocol.View
	published bool // v is published, so it must not change
	items     bool // v.Items is a copy that may change
	foreign   bool // the job's own node is of another layout
	undefined bool // the job has nodes of ours, but no configuration
	removal   bool // the job's removal has marked it
	config    *protocol.Config
	kept      *kept     // nil: config has the whole configuration
	names     *names    // nil: marks and requests do not name members
	addressed addressed // nil: members have ids
	begins    begins
	pending   pending
	servers   map[string]*protocol.Server // by address: those that have changed since the newest view; nil for one that is gone
	faults    faults
	records   spelling.Records
	marked    []int64 // by item: the revision that created its newest running mark
}

// NewDecoder returns a decoder that has seen no node. It shares records with other decoders
// unless records is nil. It keeps what a layout needs for later nodes: the names in marks, or
// the marks of each address, and the nodes of a configuration that has several.
func (j Job) NewDecoder(records spelling.Records) *Decoder {
	d := &Decoder{j: j, v: &protocol.View{}, records: records}
	if j.byAddress() {
		d.v.ByAddress, d.addressed, d.begins = true, addressed{}, begins{}
	} else if j.added != nil {
		d.names = newNames()
	}
	if j.added != nil && (j.added.Root || j.byKeys()) {
		d.kept = &kept{Kept: Kept{Name: j.name(), Keys: map[string]registry.Node{}}}
	}
	return d
}

// renew makes v a copy that may change, if it is published. MarksChanged is only about one
// view.
func (d *Decoder) renew() {
	if d.published {
		v := *d.v
		v.MarksChanged = nil
		d.v, d.published = &v, false
	}
}

// View publishes the facts as a new view.
func (d *Decoder) View() *protocol.View {
	d.renew()
	d.resolve()
	d.resolveAddresses()
	d.resolveConfig()
	v := d.v
	v.Pending = d.pending.applied(v.Pending)
	v.Servers, d.servers = merged(v.Servers, d.servers, func(s *protocol.Server) string { return s.IP }), nil
	v.Rev++
	v.Parents, v.Rest = parentsOf(v), d.undefined && d.removal
	v.ElectionLatch = spelling.Whose(v.ElectionLatch, v.Members)
	d.faults.stray(NodeAssignment, len(v.Runs) > 0 && !v.Parents.Assignment, "expected an assignment, it is gone; the leader makes a new one")
	d.faults.publish(v, d.j)
	if v.Config = d.config; d.foreign {
		v.Config = nil
	}
	d.items, d.published = false, true
	return v
}

// Apply records one changed node. What depends on several nodes is worked out in View.
func (d *Decoder) Apply(path string, n registry.Node) {
	d.renew()
	if path == d.j.root {
		d.v.Exists = n.Exists
		d.parent(NodeWasm, slices.Contains(n.Children, NodeWasm))
		d.undefined = undefined(n)
		err := d.j.rootFault(n)
		d.foreign = err != nil
		d.faults.set("", err)
		d.kept.root(n)
		return
	}
	rel, ok := strings.CutPrefix(path, d.j.root)
	if !ok || rel[0] != '/' { // a job whose name begins with this one's
		return
	}
	rel = d.j.canonical(rel[1:])
	v := d.v
	d.parent(rel, n.Exists)
	switch rel {
	case NodeConfig:
		if d.kept == nil {
			d.configured(Kept{Config: n})
		}
		d.kept.config(n)
	case NodeInstances:
		v.InstancesChanged, v.InstancesVersion = n.Stat.ChildrenChanged, n.Stat.ChildVersion
	case NodeLatch:
		v.ElectionLatch = spelling.Queue(n.Children)
	case NodeSharding:
		d.shards(n)
	case NodeFailoverLatch:
		v.FailoverLatch = spelling.Queue(n.Children)
	case NodeFailoverItems:
		d.faults.others(rel, n.Children)
	case NodeModule:
		v.HasModule, v.Definition.Module, v.ModuleVersion, v.Next = n.Exists, spelling.Spelled(n.Data), VersionOf(n), ""
		var m definition.Module
		var err error
		if n.Exists {
			m, err = definition.DecodeModule(n.Data)
		}
		if err == nil && m.Next != nil {
			v.Next = m.Next.Digest
		}
		d.faults.set(NodeModule, expected("a module", err))
	case NodeMembers:
		v.Joins = n.Stat.Version
	case NodeLeaderInstance:
		v.Leader, v.LeaderOwner, v.LeaderVersion = d.named(n), int64(n.Stat.Owner), n.Stat.Version
		d.faults.stray(rel, n.Exists && n.Stat.Owner == 0, "no session holds it, so nobody leads until it is deleted")
	case NodeStarted:
		v.Guarantee.Started = round(n)
	case NodeCompleted:
		v.Guarantee.Completed = round(n)
	case NodeNecessary:
		v.Necessary, v.NecessaryV, v.NecessaryAt = n.Exists, n.Stat.Version, 0
		if n.Exists {
			v.NecessaryAt = n.Stat.ModifiedAt.UnixMilli()
		}
	case NodeProcessing:
		v.Processing, v.ProcessingOwner = n.Exists, int64(n.Stat.Owner)
	case NodePaused:
		v.Paused, v.Pause = n.Exists, spelling.DecodePause(n.Data)
	case NodeAssignment:
		d.assignment(n)
	case NodeFires:
		d.fires(n)
	case NodeRemoval:
		d.removal = n.Exists
	default:
		d.child(rel, n)
	}
}

// round decodes a round of ElasticJob's guarantee: the items that members have reported.
func round(n registry.Node) protocol.Round {
	r := protocol.Round{Exists: n.Exists, Created: n.Stat.Created, Changed: n.Stat.ChildrenChanged}
	for _, c := range n.Children {
		if i, ok := spelling.ItemNumber(c); ok {
			r.Items = append(r.Items, i)
		} else {
			r.Strays = append(r.Strays, c)
		}
	}
	slices.Sort(r.Items)
	return r
}

// assignment decodes the assignment. A missing one is no fault; View reports it if it
// should be there.
func (d *Decoder) assignment(n registry.Node) {
	v := d.v
	v.Assignment = protocol.Assignment{}
	if !n.Exists {
		d.faults.set(NodeAssignment, nil)
		return
	}
	a, err := d.records.DecodeAssignment(n.Data)
	d.faults.set(NodeAssignment, expected("an assignment", err))
	a.Version = n.Stat.Version
	v.Assignment = a
}

// fires decodes for which instants the listeners of fires were called.
func (d *Decoder) fires(n registry.Node) {
	d.v.Fires = protocol.Fires{}
	if !n.Exists {
		d.faults.set(NodeFires, nil)
		return
	}
	f, err := spelling.DecodeFires(n.Data)
	d.faults.set(NodeFires, expected("what was told of fires", err))
	f.Exists, f.Version, f.Modified = true, n.Stat.Version, n.Stat.Modified
	d.v.Fires = f
}

// child decodes a node by the node above it. rel is its path below the job's own node.
func (d *Decoder) child(rel string, n registry.Node) {
	k := strings.LastIndexByte(rel, '/')
	if k < 0 {
		return
	}
	parent, name := rel[:k], rel[k+1:]
	v := d.v
	switch parent {
	case NodeConfig:
		d.kept.key(name, n)
	case NodeServers:
		d.server(rel, name, n)
	case NodeInstances:
		d.names.member(job.InstanceID(shared(name)), n)
		in := protocol.Instance{ID: job.InstanceID(shared(name)), Owner: int64(n.Stat.Owner), Version: n.Stat.Version}
		if d.j.dialect.Requested(n) {
			in.Request = n.Stat.Modified
		}
		v.Instances = put(v.Instances, n.Exists && in.Owner != 0, in, func(a, b protocol.Instance) int { return cmp.Compare(b.ID, a.ID) })
		v.Ghosts = put(v.Ghosts, n.Exists && in.Owner == 0, in.ID, cmp.Compare[job.InstanceID])
		d.faults.stray(rel, n.Exists && in.Owner == 0, "no session holds it, so it counts as nobody; delete it")
	case NodeMembers:
		d.names.member(job.InstanceID(shared(name)), n)
		held := n.Exists && n.Stat.Owner != 0
		d.faults.stray(rel, n.Exists && !held, "no session holds it, so it counts as nobody; delete it")
		member := spelling.DecodeMember(n.Data)
		member.ID, member.Owner = job.InstanceID(shared(name)), int64(n.Stat.Owner)
		v.Members = put(v.Members, held, member,
			func(a, b protocol.Member) int { return cmp.Compare(a.ID, b.ID) })
	case NodeRuns:
		r := protocol.Runs{ID: job.InstanceID(shared(name)), Version: n.Stat.Version, Modified: n.Stat.Modified}
		var err error
		if n.Exists {
			r.RunsData, err = d.records.Decode(n.Data)
		}
		d.faults.set(rel, expected("a record", err))
		v.Runs = put(v.Runs, n.Exists, r, func(a, b protocol.Runs) int { return cmp.Compare(a.ID, b.ID) })
	case NodeFailoverItems:
		if i, ok := spelling.ItemNumber(name); ok {
			d.faults.set(rel, expected("an interrupted run", d.pending.set(i, n)))
		}
	case NodeAssignment:
		d.backfill(rel, name, n)
	case NodeSharding:
		if i, ok := spelling.ItemNumber(name); ok && i < len(v.Items) && v.Items[i].Exists {
			v.MarksChanged = append(v.MarksChanged, make([]int64, max(0, i+1-len(v.MarksChanged)))...)
			v.MarksChanged[i] = n.Stat.ChildrenChanged
		}
	default:
		if !d.names.asked(parent, name, n) && !d.addressed.part(parent, name, n) {
			d.mark(parent, name, n)
		}
	}
}

// server decodes the node of a server. Where nodes below it identify members,
// resolveAddresses evaluates it. In other layouts such nodes show that the job is of
// another layout.
func (d *Decoder) server(rel, ip string, n registry.Node) {
	if d.addressed != nil {
		d.addressed.server(ip, n)
		return
	}
	s := protocol.Server{IP: shared(ip), Disabled: d.j.dialect.Disabled(n), Version: n.Stat.Version, Occupied: len(n.Children) > 0}
	other := ByAddressIn(n)
	d.faults.set(rel, d.j.otherLayout(other))
	d.faults.stray(rel, s.Occupied && !other, "there is something below it that does not belong there; it is left alone")
	if d.servers == nil {
		d.servers = map[string]*protocol.Server{}
	}
	if d.servers[s.IP] = nil; n.Exists {
		d.servers[s.IP] = &s
	}
}

// shards decodes which items have nodes, from the list of their names.
func (d *Decoder) shards(n registry.Node) {
	d.faults.others(NodeSharding, n.Children)
	present := make([]bool, 0, len(n.Children))
	for _, c := range n.Children {
		if i, ok := spelling.ItemNumber(c); ok {
			for len(present) <= i {
				present = append(present, false)
			}
			present[i] = true
		}
	}
	d.grow(len(present))
	d.v.Items = d.v.Items[:len(present)]
	for i, p := range present {
		if p {
			d.v.Items[i].Exists = true
		} else {
			d.v.Items[i] = protocol.Item{}
		}
	}
	d.names.forget(d.v.Items)
	d.begins.forget(d.v.Items)
}

// grow makes v.Items a copy that may change, of at least n elements. Views share the list
// otherwise.
func (d *Decoder) grow(n int) {
	if !d.items {
		d.v.Items = slices.Clone(d.v.Items)
		d.items = true
	}
	for len(d.v.Items) < n {
		d.v.Items = append(d.v.Items, protocol.Item{})
	}
}

// mark decodes a node of an item. If an item has vanished, the mirror drops its nodes after
// the list of items, and mark ignores them.
func (d *Decoder) mark(parent, name string, n registry.Node) {
	num, ok := strings.CutPrefix(parent, NodeSharding+"/")
	if !ok {
		return
	}
	i, ok := spelling.ItemNumber(num)
	if !ok || i >= len(d.v.Items) || !d.v.Items[i].Exists {
		return
	}
	d.grow(0)
	d.names.mark(i, name, n)
	d.begins.take(i, name, n)
	it := &d.v.Items[i]
	switch name {
	case MarkInstance:
		it.Owner, it.OwnerVer = named(n), n.Stat.Version
		if i == 0 {
			d.v.Sealed = slices.Contains(n.Children, NodeWasm)
		}
	case MarkRunning:
		if n.Exists && d.isNewMark(i, n.Stat.Created) {
			it.Marks++
		}
		it.Running, it.RunningVer = int64(n.Stat.Owner), n.Stat.Version
		it.Abandoned = n.Exists && n.Stat.Owner == 0
	case MarkMisfire:
		it.Misfire = n.Exists
	case MarkDisabled:
		it.Disabled = n.Exists
	case MarkFailover:
		it.Failover, it.TakerSession = d.named(n), int64(n.Stat.Owner)
	case markCompleted:
		it.Nodes.Set(completed, n.Exists)
	case markLastBegin:
		it.Nodes.Set(lastBegin, n.Exists)
		it.ForeignBegan = d.begins.foreign(i)
	case markLastEnd:
		it.Nodes.Set(lastEnd, n.Exists)
	case markNextFire:
		it.Nodes.Set(nextFire, n.Exists)
		it.ForeignBegan = d.begins.foreign(i)
	}
}

// isNewMark reports whether the running mark of an item is another one than was last read:
// the mark may have gone and come again between two reads. created is 0 for a mark that
// came and went unread.
func (d *Decoder) isNewMark(i int, created int64) bool {
	if created == 0 {
		return true
	}
	d.marked = append(d.marked, make([]int64, max(0, i+1-len(d.marked)))...)
	before := d.marked[i]
	d.marked[i] = created
	return before != created
}

// named returns the instance that a node names. For a node without a name it returns one
// that no instance has, so that the node differs from a missing one.
func named(n registry.Node) job.InstanceID {
	if n.Exists && len(n.Data) == 0 {
		return "?"
	}
	return job.InstanceID(shared(string(n.Data)))
}

// shared returns one copy of a name that thousands of a server's jobs have in common.
func shared(name string) string { return unique.Make(name).Value() }

// put replaces, inserts or removes the element x in a copy of a sorted list. exists says
// that it shall be there.
func put[T any](s []T, exists bool, x T, compare func(a, b T) int) []T {
	k, found := slices.BinarySearchFunc(s, x, compare)
	switch {
	case found && exists:
		s = slices.Clone(s)
		s[k] = x
	case found:
		s = slices.Concat(s[:k], s[k+1:])
	case exists:
		s = slices.Concat(s[:k], []T{x}, s[k:])
	}
	return s
}
