package jobtree

import (
	"errors"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Job is one job with the dialect of its layout. All paths of the project are made here.
type Job struct {
	namespace string
	root      string // /{namespace}/{job}
	without   string // a fence to leave out; "": none
	dialect   Dialect
	added     *Added
}

// New returns a job in a namespace, which may contain slashes.
func New(d Dialect, namespace, name string) Job {
	ns := "/" + strings.Trim(namespace, "/")
	return Job{namespace: ns, root: strings.TrimSuffix(ns, "/") + "/" + name, dialect: d, added: d.Added()}
}

// Namespace lists the nodes that must exist above every job, outermost first.
func (j Job) Namespace() []string {
	var paths []string
	for i, r := range j.namespace {
		if r == '/' && i > 0 {
			paths = append(paths, j.namespace[:i])
		}
	}
	if j.namespace == "/" {
		return nil
	}
	return append(paths, j.namespace)
}

const (
	NodeConfig         = "config"
	NodeServers        = "servers"
	NodeInstances      = "instances"
	NodeLeader         = "leader"
	NodeElection       = "leader/election"
	NodeLatch          = "leader/election/latch"
	NodeLeaderInstance = "leader/election/instance"
	NodeLeaderSharding = "leader/sharding"
	NodeNecessary      = "leader/sharding/necessary"
	NodeProcessing     = "leader/sharding/processing"
	NodeFailover       = "leader/failover"
	NodeFailoverItems  = "leader/failover/items"
	NodeFailoverLatch  = "leader/failover/latch"
	NodeGuarantee      = "guarantee"
	NodeStarted        = "guarantee/started"
	NodeCompleted      = "guarantee/completed"
	NodeSharding       = "sharding"
	NodeWasm           = "wasm"
	NodeModule         = "wasm/module"
	NodeMembers        = "wasm/members"
	NodeAssignment     = "wasm/assignment"
	NodeRuns           = "wasm/runs"
	NodePaused         = "wasm/paused"
	NodeFires          = "wasm/fires"
	NodeItems          = "wasm/items"
	NodeRemoval        = "wasm/removal"
	NodeMigration      = "wasm/migration"
	NodeTrigger        = "trigger" // in layout 3

	MarkRunning  = "running"
	MarkMisfire  = "misfire"
	MarkDisabled = "disabled"
	MarkFailover = "failover"
	MarkInstance = "instance"
	MarkSeal     = "instance/wasm" // below the owner's node of item 0, which ElasticJob deletes first when it assigns
	MarkState    = "state"

	MarkFailovering = "failovering" // in layout 3
)

// Root is the job's own node, above all others of it.
func (j Job) Root() string { return j.root }

// Removal returns the node that marks an unfinished removal, and the node above it.
func (j Job) Removal() (above, mark string) { return j.at(NodeWasm), j.at(NodeRemoval) }

func (j Job) name() string {
	return strings.TrimPrefix(j.root, strings.TrimSuffix(j.namespace, "/")+"/")
}

func (j Job) at(node string) string { return j.root + "/" + j.called(node) }

// At returns the path of a node of Watched or Outline.
func (j Job) At(name string) string {
	if name == "" {
		return j.root
	}
	return j.at(name)
}

// Item returns the node of an item, or of its mark.
func (j Job) Item(i int, mark string) string {
	p := j.at(NodeSharding) + "/" + strconv.Itoa(i)
	if mark != "" {
		p += "/" + mark
	}
	return p
}

// ServerValue returns the value of a server's node, with which an operator disables it.
func (j Job) ServerValue(disabled bool) string { return j.dialect.Server(disabled) }

// ServerDisabled reads such a value.
func (j Job) ServerDisabled(server registry.Node) bool { return j.dialect.Disabled(server) }

func (j Job) server(ip string) string { return j.at(NodeServers) + "/" + ip }

// Instance is the node that makes a member count in sharding.
func (j Job) Instance(id job.InstanceID) string {
	if j.byAddress() {
		return j.part(id.IP(), partStatus)
	}
	return j.at(NodeInstances) + "/" + string(id)
}

func (j Job) member(id job.InstanceID) string { return j.at(NodeMembers) + "/" + string(id) }
func (j Job) runsOf(id job.InstanceID) string { return j.at(NodeRuns) + "/" + string(id) }
func (j Job) backfillOf(i int) string         { return j.at(NodeAssignment) + "/" + strconv.Itoa(i) }
func (j Job) pendingItem(i int) string        { return j.at(NodeFailoverItems) + "/" + strconv.Itoa(i) }

// watched is read-only: the mirrors of all jobs share it.
var watched = []string{
	"", NodeConfig, NodeServers, NodeInstances, NodeLeader, NodeElection, NodeLatch, NodeLeaderInstance,
	NodeLeaderSharding, NodeNecessary, NodeProcessing, NodeFailover, NodeFailoverItems, NodeFailoverLatch, NodeGuarantee, NodeSharding,
	NodeModule, NodeMembers, NodeAssignment, NodeRuns, NodePaused, NodeFires,
}

// marks is read-only as well.
var marks = []string{MarkInstance, MarkRunning, MarkMisfire, MarkDisabled, MarkFailover}

// Watched lists the nodes from which a mirror of a job starts, by their names below the
// job's own node, which comes first and has no name. The node "wasm" is not among them:
// every transaction sets it to learn its own revision, and that must not wake members.
// Callers must not change the list.
func (j Job) Watched() []string {
	if j.added != nil {
		return j.added.watched
	}
	return watched
}

// Below is the mirror's rule for the nodes below a node, by names as in Watched: it returns
// those that the mirror also follows. The marks of an item are named even if they do not
// exist, so their creation is one event, not two.
func (j Job) Below(name string, n registry.Node) []string {
	if !n.Exists {
		return nil
	}
	var below []string
	switch name {
	case "":
		if undefined(n) {
			below = []string{NodeRemoval} // only a job without a configuration may be one that is being removed
		}
	case NodeConfig:
		return j.keysOf(n)
	case NodeServers:
		for _, c := range n.Children {
			below = append(below, name+"/"+c)
			if !j.byAddress() {
				continue
			}
			for _, part := range parts {
				below = append(below, name+"/"+c+"/"+part)
			}
		}
	case NodeInstances, NodeMembers, NodeRuns, NodeTrigger:
		below = make([]string, 0, len(n.Children))
		for _, c := range n.Children {
			below = append(below, name+"/"+c)
		}
	case NodeGuarantee:
		below = []string{NodeStarted, NodeCompleted}
	case NodeFailoverItems, NodeAssignment:
		for _, c := range n.Children {
			if _, ok := spelling.ItemNumber(c); ok {
				below = append(below, name+"/"+c)
			}
		}
	case j.called(NodeSharding):
		marks := marks
		if j.added != nil {
			marks = j.added.marks
		}
		below = make([]string, 0, len(n.Children)*len(marks))
		for _, c := range n.Children {
			if _, ok := spelling.ItemNumber(c); ok {
				for _, mark := range marks {
					below = append(below, name+"/"+c+"/"+mark)
				}
			}
		}
	}
	return below
}

// ItemNode is the name, as in Watched, of the node above the marks of an item. A mirror
// does not follow it, since it changes with each mark.
func (j Job) ItemNode(i int) string { return j.called(NodeSharding) + "/" + strconv.Itoa(i) }

// RunningMark reports whether a name, as in Watched, is that of a running mark.
func (j Job) RunningMark(name string) bool {
	return strings.HasPrefix(name, j.called(NodeSharding)+"/") && strings.HasSuffix(name, "/"+MarkRunning)
}

// Occupied returns the item whose node could not be deleted because other nodes are
// below it, if a transaction was refused for that. It counts from 1; 0 is none.
func (j Job) Occupied(err error) int {
	c, ok := errors.AsType[*registry.ConflictError](err)
	if !ok || c.Reason != registry.NotEmpty || c.Op.Kind != registry.Delete {
		return 0
	}
	name, ok := strings.CutPrefix(c.Op.Path, j.at(NodeSharding)+"/")
	if !ok {
		return 0
	}
	i, ok := spelling.ItemNumber(name)
	if !ok {
		return 0
	}
	return i + 1
}
