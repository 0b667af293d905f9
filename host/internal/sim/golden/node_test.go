package golden

import (
	"maps"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
)

// node identifies a node of a job without its path: kind is the path below the job with
// dots, with N for the number of an item, IP for an address and ID for an instance; arg
// is the value of that.
type node struct{ kind, arg string }

// root is the job's own node, space the one above it.
const (
	root  = "(job)"
	space = "(namespace)"
)

// nodeOf parses a path of the job at top. Nodes that are not compared are left out: ours,
// and the contenders of Curator's latches.
func nodeOf(top, path string) (n node, compared bool) {
	rel, below := strings.CutPrefix(path, top+"/")
	switch {
	case path == top:
		return node{kind: root}, true
	case strings.HasPrefix(top, path+"/"):
		return node{kind: space}, true
	case !below || rel == ours || strings.HasPrefix(rel, ours+"/"):
		return node{}, false
	}
	parts := strings.Split(rel, "/")
	for k, p := range parts {
		switch before := strings.Join(parts[:k], "."); {
		case strings.HasPrefix(p, contender):
			return node{}, false
		case before == "servers":
			n.arg, parts[k] = p, "IP"
		case before == "instances":
			n.arg, parts[k] = p, "ID"
		case digits(p):
			n.arg, parts[k] = p, "N"
		}
	}
	n.kind = strings.Join(parts, ".")
	return n, true
}

// ours is the part of a job's tree that ElasticJob ignores. The nodes in which Curator's
// clients queue begin with contender.
const (
	ours      = "wasm"
	contender = "_c_"
)

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (n node) String() string {
	if n.arg == "" {
		return n.kind
	}
	return n.kind + " (" + n.arg + ")"
}

func kind(k string) node { return node{kind: k} }

func ofItem(mark, item string) node { return node{"sharding.N." + mark, item} }

func pendingOf(item string) node { return node{"leader.failover.items.N", item} }

func instanceOf(id string) node { return node{"instances.ID", id} }

func serverOf(id string) node { return node{"servers.IP", job.InstanceID(id).IP()} }

// state is the state of a node at one moment. A recording begins in the middle, so data
// and kind may be unknown.
type state struct {
	exists    bool
	ephemeral bool
	data      string
}

// touch is the change of one node by one transaction.
type touch struct {
	node
	state
	set bool // the node existed, and only its data was set
}

// entry is one transaction, or the end of a session.
type entry struct {
	at      int64  // ms since the recording began
	z       int64  // its place in the log
	by      string // id of a member; "" for any other writer
	end     bool   // the end of a session, which no member decides
	touched []touch
}

// world is the known part of the tree.
type world map[node]state

func (w world) apply(e entry) world {
	next := maps.Clone(w)
	for _, t := range e.touched {
		next[t.node] = t.over(next[t.node])
	}
	return next
}

// over returns the state after the touch of a node with the state old.
func (t touch) over(old state) state {
	s := t.state
	if t.set {
		s.ephemeral = old.ephemeral
	}
	return s
}
