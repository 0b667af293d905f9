package jobtree

import (
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// names are the nodes that name a member, and that need no session. They count as held by
// the session of that member. A nil *names ignores all nodes.
type names struct {
	requests map[job.InstanceID]int64 // requests to members, by the revision that wrote them
	born     map[job.InstanceID]int64 // the revision at which a member came; another member may have had its id before
	items    map[int]said
	settled  bool // the view is up to date with them
}

// said is what the marks of an item name.
type said struct {
	running     mention        // the mark without a session
	taker       job.InstanceID // by the failover mark
	session     int64          // it holds the failover mark
	failovering mention
}

// mention is a member named by a node, and the revision that wrote the node.
type mention struct {
	id      job.InstanceID
	created int64
}

func mentioned(n registry.Node) mention { return mention{named(n), n.Stat.Created} }

func newNames() *names {
	return &names{requests: map[job.InstanceID]int64{}, born: map[job.InstanceID]int64{}, items: map[int]said{}}
}

// member records a node with which a member takes part.
func (s *names) member(id job.InstanceID, n registry.Node) {
	if s == nil {
		return
	}
	s.settled = false
	if delete(s.born, id); n.Exists {
		s.born[id] = n.Stat.Created
	}
}

// asked records a node that asks a member to begin. It returns false for any other node.
func (s *names) asked(parent, name string, n registry.Node) bool {
	if s == nil || parent != NodeTrigger {
		return false
	}
	s.settled = false
	id := job.InstanceID(shared(name))
	if delete(s.requests, id); n.Exists {
		s.requests[id] = n.Stat.Created
	}
	return true
}

// mark records which member a mark of an item names. A running mark that a session holds
// needs no name.
func (s *names) mark(item int, mark string, n registry.Node) {
	if s == nil {
		return
	}
	says := s.items[item]
	switch mark {
	case MarkRunning:
		if says.running = (mention{}); n.Stat.Owner == 0 {
			says.running = mentioned(n)
		}
	case MarkFailover:
		says.taker, says.session = named(n), int64(n.Stat.Owner)
	case MarkFailovering:
		says.failovering = mentioned(n)
	default:
		return
	}
	s.items[item], s.settled = says, false
}

// forget drops the marks of items that no longer exist.
func (s *names) forget(items []protocol.Item) {
	if s == nil {
		return
	}
	maps.DeleteFunc(s.items, func(i int, _ said) bool { return i >= len(items) || !items[i].Exists })
}

// resolve updates the view from the members that marks and requests name, if these have
// changed. In layout 3 such nodes outlive sessions, so only the names show whose they are.
func (d *Decoder) resolve() {
	s := d.names
	if s == nil || s.settled {
		return
	}
	s.settled = true
	if len(s.items) > 0 {
		d.grow(0) // copies the items
	}
	for i, says := range s.items {
		d.resolveItem(&d.v.Items[i], says)
		if says == (said{}) { // it was kept to clear the item
			delete(s.items, i)
		}
	}
	d.v.Instances, d.v.Unanswered = slices.Clone(d.v.Instances), nil
	for k := range d.v.Instances {
		d.v.Instances[k].Request = s.requests[d.v.Instances[k].ID]
	}
	for _, id := range slices.Sorted(maps.Keys(s.requests)) {
		if !slices.ContainsFunc(d.v.Instances, func(in protocol.Instance) bool { return in.ID == id }) {
			d.v.Unanswered = append(d.v.Unanswered, id)
		}
	}
}

// resolveItem sets what the marks of an item say of its members. A running mark without a
// session is held by the session of the member that it names; if that is gone, the mark is
// abandoned. The failover mark names the taker; without it, the mark that outlives the
// taker's session does.
func (d *Decoder) resolveItem(it *protocol.Item, says said) {
	if says.running.id != "" {
		it.Running = d.sessionOf(says.running)
		it.Abandoned = it.Running == 0
	}
	if it.AbandonedBy = ""; it.Abandoned {
		it.AbandonedBy = says.running.id
	}
	it.Failover, it.TakerSession = says.taker, says.session
	alone := says.taker == "" && says.failovering.id != ""
	it.Nodes.Set(failovering, says.failovering.id != "")
	if it.Nodes.Set(onlyFailovering, alone); alone {
		it.Failover, it.TakerSession = says.failovering.id, d.sessionOf(says.failovering)
	}
}

// sessionOf returns the session of the mentioned member; 0 if it is gone. If a member with
// its id came after the node was written, that is another one.
func (d *Decoder) sessionOf(m mention) int64 {
	if m.created < d.names.born[m.id] {
		return 0
	}
	for k := range d.v.Members {
		if d.v.Members[k].ID == m.id {
			return d.v.Members[k].Owner
		}
	}
	for k := range d.v.Instances {
		if d.v.Instances[k].ID == m.id {
			return d.v.Instances[k].Owner
		}
	}
	return 0
}
