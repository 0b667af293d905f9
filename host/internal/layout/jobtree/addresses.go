package jobtree

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Layouts 2.0 and 1 identify a member by the address of its server. The member's nodes are
// below the node of that server, and some nodes have other names than in later layouts.
const (
	nodeExecution = "execution"            // NodeSharding here
	nodeHost      = "leader/election/host" // NodeLeaderInstance here

	partStatus   = "status" // with it a member takes part
	partHost     = "hostName"
	partItems    = "sharding" // the list of its items
	partDisabled = "disabled"
	partPaused   = "paused"
	partStopped  = "stoped" // in releases before 1.0.8
	partShutdown = "shutdown"
	partTrigger  = "trigger"
	partHandled  = "processSuccessCount" // of a dataflow in layout 1, like partFailed
	partFailed   = "processFailureCount"

	markCompleted = "completed"
	markLastBegin = "lastBeginTime"
	markLastEnd   = "lastCompleteTime"
	markNextFire  = "nextFireTime"

	// nodesOfRun is the number of nodes that the begin of a run writes; the core counts one
	// of them.
	nodesOfRun = 4
)

// parts are the nodes below that of a server, in the order of Server.Nodes. addressedMarks
// are those of an item. Both are read-only.
var (
	parts          = []string{partStatus, partHost, partItems, partDisabled, partPaused, partStopped, partShutdown, partTrigger, partHandled, partFailed}
	addressedMarks = []string{MarkRunning, MarkMisfire, MarkDisabled, MarkFailover, markCompleted, markLastBegin, markLastEnd, markNextFire}
)

// keptOut are the parts with which an operator keeps a server from its items.
var keptOut = []string{partDisabled, partPaused, partStopped, partShutdown}

func (j Job) byAddress() bool { return j.added != nil && j.added.ByAddress }

func (j Job) part(ip, part string) string { return j.server(ip) + "/" + part }

// called returns the name of a node in this layout, by its name in later layouts. canonical
// is its reverse.
func (j Job) called(node string) string {
	switch {
	case !j.byAddress():
	case node == NodeSharding:
		return nodeExecution
	case node == NodeLeaderInstance:
		return nodeHost
	}
	return node
}

// canonical returns the name in later layouts of a node, or of one below it.
func (j Job) canonical(name string) string {
	if !j.byAddress() {
		return name
	}
	if name == nodeHost {
		return NodeLeaderInstance
	}
	if below, is := strings.CutPrefix(name, nodeExecution); is && (below == "" || below[0] == '/') {
		return NodeSharding + below
	}
	return name
}

// byAddress changes a list of nodes to what layouts 2.0 and 1 have: no node of instances,
// and other names of two nodes.
func byAddress(nodes []string) []string {
	nodes = slices.DeleteFunc(nodes, func(n string) bool { return n == NodeInstances })
	for k, n := range nodes {
		switch n {
		case NodeSharding:
			nodes[k] = nodeExecution
		case NodeLeaderInstance:
			nodes[k] = nodeHost
		}
	}
	return nodes
}

// nameOf returns a member's name in the nodes of this layout.
func (j Job) nameOf(id job.InstanceID) string {
	if j.byAddress() {
		return id.IP()
	}
	return string(id)
}

// addressed are the nodes of servers, by address. A nil map ignores all nodes.
type addressed map[string]*serverNodes

type serverNodes struct {
	server    registry.Node
	owner     int64 // session that holds the status; 0: none
	requested int64 // revision of its request
	items     []int
	fault     error // error of their list
	nodes     protocol.NodeSet
}

// at returns the nodes of a server. A server without any is added.
func (a addressed) at(ip string) *serverNodes {
	s := a[ip]
	if s == nil {
		s = &serverNodes{}
		a[shared(ip)] = s
	}
	return s
}

func (a addressed) server(ip string, n registry.Node) {
	a.at(ip).server = n
	a.forget(ip)
}

// forget drops a server without any node.
func (a addressed) forget(ip string) {
	if s := a[ip]; !s.server.Exists && s.nodes == 0 {
		delete(a, ip)
	}
}

// part records a node below that of a server. It returns false for any other node.
func (a addressed) part(parent, name string, n registry.Node) bool {
	ip, below := strings.CutPrefix(parent, NodeServers+"/")
	if a == nil || !below {
		return false
	}
	s := a.at(ip)
	defer a.forget(ip)
	s.nodes.Set(slices.Index(parts, name), n.Exists)
	switch name {
	case partStatus:
		s.owner = int64(n.Stat.Owner)
	case partTrigger:
		s.requested = n.Stat.Created
	case partItems:
		s.items, s.fault = servertree.ParseItems(string(n.Data))
	}
	return true
}

func (s *serverNodes) has(part string) bool { return s.nodes.Has(slices.Index(parts, part)) }

// resolveAddresses sets what the view says of servers, members and owners in layouts 2.0
// and 1, from the nodes of servers. It runs once all nodes are known, since these name only
// addresses, while the view has the ids of our members.
func (d *Decoder) resolveAddresses() {
	if d.addressed == nil {
		return
	}
	v := d.v
	v.Servers, v.Instances, v.Ghosts, v.Unanswered = nil, nil, nil, nil
	// A migration from these layouts creates an assignment before it changes the layout,
	// and no node of members, which our members create together with it.
	var cut error
	if has(v, NodeAssignment) && !has(v, NodeMembers) && !(d.undefined && d.removal) { // a rest may be without either
		cut = errors.New("a migration of the job was cut off: end it by job migrate, or take it back with --back")
	}
	d.faults.set(NodeWasm, cut)
	owners := make([]job.InstanceID, len(v.Items))
	for _, ip := range slices.Sorted(maps.Keys(d.addressed)) {
		s := d.addressed[ip]
		if !s.server.Exists {
			continue
		}
		// A foreign node below keeps the server's node from being deleted.
		occupied := slices.ContainsFunc(s.server.Children, func(c string) bool { return !slices.Contains(parts, c) })
		out := slices.ContainsFunc(keptOut, s.has)
		// It is paused, and nothing else keeps it out.
		keeps := out && d.j.added.PauseKeepsItems && !slices.ContainsFunc(keptOut, func(part string) bool { return part != partPaused && s.has(part) })
		v.Servers = append(v.Servers, protocol.Server{IP: ip, Disabled: out, KeepsItems: keeps, Version: s.server.Stat.Version, Occupied: occupied, Nodes: s.nodes})
		path := NodeServers + "/" + ip + "/" + partStatus
		ghost := s.has(partStatus) && s.owner == 0
		if d.faults.stray(path, ghost, "no session holds it, and it keeps servers of this address out; delete it"); ghost {
			v.Ghosts = append(v.Ghosts, unknownAt(ip))
		}
		list := ""
		if s.fault != nil {
			list = s.fault.Error() + "; the next reshard writes it anew"
		}
		d.faults.stray(NodeServers+"/"+ip+"/"+partItems, s.fault != nil, list)
		if s.has(partTrigger) && !s.has(partStatus) { // a request to a member that is gone
			v.Unanswered = append(v.Unanswered, unknownAt(ip))
		}
		if s.owner != 0 {
			v.Instances = append(v.Instances, protocol.Instance{ID: d.memberOf(ip, s.owner), Owner: s.owner, Request: s.requested})
		}
		for _, i := range s.items {
			if i < len(owners) {
				owners[i] = d.ownerAt(i, ip)
			}
		}
	}
	v.Leader = d.memberOf(v.Leader.IP(), v.LeaderOwner)
	for i, owner := range owners {
		it := v.Items[i]
		it.Owner = owner
		it.Failover = d.memberOf(it.Failover.IP(), it.TakerSession)
		if it != v.Items[i] {
			d.grow(0) // copies the items before one changes
			d.v.Items[i] = it
		}
	}
}

// memberOf returns the member of ours that has a session. If there is none, because the
// session is foreign or over, only the address is known; "" if that is empty, too.
func (d *Decoder) memberOf(ip string, session int64) job.InstanceID {
	for k := range d.v.Members {
		if m := &d.v.Members[k]; m.Owner == session {
			return m.ID
		}
	}
	if ip == "" {
		return ""
	}
	return unknownAt(ip)
}

// named returns the member that a node names. Where nodes name addresses, that is an
// unknown member at the address, until resolveAddresses runs.
func (d *Decoder) named(n registry.Node) job.InstanceID {
	if d.addressed != nil && len(n.Data) > 0 {
		return unknownAt(string(n.Data))
	}
	return named(n)
}

// unknownAt returns an id that stands for an unknown member at an address.
func unknownAt(ip string) job.InstanceID { return job.InstanceID(ip + "@-@?") }

// ownerAt returns the owner of an item in the list of an address: the member that the
// assignment names, if it is there.
func (d *Decoder) ownerAt(i int, ip string) job.InstanceID {
	if o := d.v.Assignment.Owners; i < len(o) && o[i].IP() == ip {
		return o[i]
	}
	return unknownAt(ip)
}
