package check

import (
	"fmt"
	"strings"
)

// Change is one node of the job after a transaction of ZooKeeper's log.
type Change struct {
	At      int64  // by the service's clock, in Unix milliseconds
	Session int64  // the session that wrote it
	Path    string // below the job's node
	Data    string
	Gone    bool
}

// Nodes used by the check.
const (
	leaderNode    = "leader/election/instance"
	necessaryNode = "leader/sharding/necessary"
	configNode    = "config"
)

// ownerNode, runningNode and failoverNode are nodes of an item: of its owner, and the
// marks of its run and of its taker.
func ownerNode(item int) string    { return fmt.Sprintf("sharding/%d/instance", item) }
func runningNode(item int) string  { return fmt.Sprintf("sharding/%d/running", item) }
func failoverNode(item int) string { return fmt.Sprintf("sharding/%d/failover", item) }

// tree holds the changes of each node.
type tree struct {
	nodes    map[string][]Change
	sessions map[int64]string // the addresses of instances
}

// grow sorts ZooKeeper's log by node. Who creates an instance names its session.
func grow(log []Change) tree {
	t := tree{map[string][]Change{}, map[int64]string{}}
	for _, c := range log {
		t.nodes[c.Path] = append(t.nodes[c.Path], c)
		if id, ok := strings.CutPrefix(c.Path, "instances/"); ok && !c.Gone {
			t.sessions[c.Session] = address(id)
		}
	}
	return t
}

// address returns the address of an instance.
func address(id string) string {
	ip, _, _ := strings.Cut(id, "@-@")
	return ip
}

// at returns a node as it was at a time, with Gone set if it did not exist.
func (t tree) at(path string, at int64) Change {
	last := Change{Path: path, Gone: true}
	for _, c := range t.nodes[path] {
		if c.At > at {
			break
		}
		last = c
	}
	return last
}

// named returns the instance that an owner's node named last. The node need not exist
// now: it is absent for a moment whenever a leader assigns items.
func (t tree) named(item int, at int64) string {
	id := ""
	for _, c := range t.nodes[ownerNode(item)] {
		if c.At > at {
			break
		}
		if !c.Gone {
			id = c.Data
		}
	}
	return id
}

// moves returns the changes after from, up to to, that gave an item another owner.
func (t tree) moves(item int, from, to int64) []move {
	var all []move
	id := ""
	for _, c := range t.nodes[ownerNode(item)] {
		if c.Gone || c.Data == id {
			continue
		}
		if c.At > from && c.At <= to {
			all = append(all, move{at: c.At, from: id, to: c.Data, by: t.sessions[c.Session]})
		}
		id = c.Data
	}
	return all
}

// move is an item that gets another owner; by is the address of the leader that assigned
// it.
type move struct {
	at       int64
	from, to string
	by       string
}

// left reports whether an instance with an address disappeared after from, up to to.
func (t tree) left(member string, from, to int64) bool {
	for path := range t.nodes {
		if id, ok := strings.CutPrefix(path, "instances/"); ok && address(id) == member {
			if _, gone := t.within(path, true, from, to); gone {
				return true
			}
		}
	}
	return false
}

// within returns the first change after from, up to to, that created or set a node or,
// with gone, deleted it.
func (t tree) within(path string, gone bool, from, to int64) (Change, bool) {
	for _, c := range t.nodes[path] {
		if c.At > from && c.At <= to && c.Gone == gone {
			return c, true
		}
	}
	return Change{}, false
}
