package layout

import (
	"errors"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// Job spells one job in layout 2.1. Every path of the project is made here.
type Job struct {
	namespace string
	root      string // /{namespace}/{job}
}

// NewJob is the spelling of a job in a namespace, which may contain slashes.
func NewJob(namespace, name string) Job {
	ns := "/" + strings.Trim(namespace, "/")
	return Job{namespace: ns, root: strings.TrimSuffix(ns, "/") + "/" + name}
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
	nodeConfig         = "config"
	nodeServers        = "servers"
	nodeInstances      = "instances"
	nodeLeader         = "leader"
	nodeElection       = "leader/election"
	nodeLatch          = "leader/election/latch"
	nodeLeaderInstance = "leader/election/instance"
	nodeLeaderSharding = "leader/sharding"
	nodeNecessary      = "leader/sharding/necessary"
	nodeProcessing     = "leader/sharding/processing"
	nodeFailover       = "leader/failover"
	nodeFailoverItems  = "leader/failover/items"
	nodeFailoverLatch  = "leader/failover/latch"
	nodeGuarantee      = "guarantee"
	nodeStarted        = "guarantee/started"
	nodeCompleted      = "guarantee/completed"
	nodeSharding       = "sharding"
	nodeWasm           = "wasm"
	nodeModule         = "wasm/module"
	nodeMembers        = "wasm/members"
	nodeAssignment     = "wasm/assignment"
	nodeRuns           = "wasm/runs"
	nodePaused         = "wasm/paused"
	nodeFires          = "wasm/fires"
	nodeItems          = "wasm/items"

	markRunning  = "running"
	markMisfire  = "misfire"
	markDisabled = "disabled"
	markFailover = "failover"
	markInstance = "instance"
	markState    = "state"

	valueDisabled = "DISABLED"
	valueTrigger  = "TRIGGER"
)

// Root is the node of the job, above all others of it.
func (j Job) Root() string { return j.root }

func (j Job) at(node string) string { return j.root + "/" + node }

func (j Job) item(i int, mark string) string {
	p := j.root + "/" + nodeSharding + "/" + strconv.Itoa(i)
	if mark != "" {
		p += "/" + mark
	}
	return p
}

func (j Job) server(ip string) string { return j.at(nodeServers) + "/" + ip }

// Instance is the node that registers a member for sharding.
func (j Job) Instance(id job.InstanceID) string { return j.at(nodeInstances) + "/" + string(id) }
func (j Job) member(id job.InstanceID) string   { return j.at(nodeMembers) + "/" + string(id) }
func (j Job) runsOf(id job.InstanceID) string   { return j.at(nodeRuns) + "/" + string(id) }
func (j Job) pendingItem(i int) string          { return j.at(nodeFailoverItems) + "/" + strconv.Itoa(i) }

// Watched lists the paths from which a mirror of the job starts. The node
// "wasm" itself is not among them: every transaction sets it, to learn its own
// revision, and nobody is to be woken by that.
func (j Job) Watched() []string {
	nodes := []string{
		nodeConfig, nodeServers, nodeInstances, nodeLeader, nodeElection, nodeLatch, nodeLeaderInstance,
		nodeLeaderSharding, nodeNecessary, nodeProcessing, nodeFailover, nodeFailoverItems, nodeFailoverLatch, nodeGuarantee, nodeSharding,
		nodeModule, nodeMembers, nodeAssignment, nodeRuns, nodePaused, nodeFires,
	}
	paths := append(make([]string, 0, len(nodes)+1), j.root)
	for _, n := range nodes {
		paths = append(paths, j.at(n))
	}
	return paths
}

// Follow is the mirror's rule of what lies below a path. The marks of an item
// are named whether they exist or not: their creation is then one event, not
// two.
func (j Job) Follow(path string, n registry.Node) []string {
	if !n.Exists || len(path) <= len(j.root) {
		return nil
	}
	var kids []string
	switch path[len(j.root)+1:] {
	case nodeServers, nodeInstances, nodeMembers, nodeRuns:
		for _, c := range n.Children {
			kids = append(kids, path+"/"+c)
		}
	case nodeGuarantee:
		kids = append(kids, j.at(nodeStarted), j.at(nodeCompleted))
	case nodeFailoverItems:
		for _, c := range n.Children {
			if _, ok := itemNumber(c); ok {
				kids = append(kids, path+"/"+c)
			}
		}
	case nodeSharding:
		for _, c := range n.Children {
			if i, ok := itemNumber(c); ok {
				for _, mark := range []string{markInstance, markRunning, markMisfire, markDisabled, markFailover} {
					kids = append(kids, j.item(i, mark))
				}
			}
		}
	}
	return kids
}

// RunningMark tells whether a path is that of a mark of a run.
func (j Job) RunningMark(path string) bool {
	return strings.HasPrefix(path, j.root+"/"+nodeSharding+"/") && strings.HasSuffix(path, "/"+markRunning)
}

// Occupied tells which item's node could not be deleted because there is
// something below it, if that is why a transaction was refused. It counts from
// 1; 0 is none.
func (j Job) Occupied(err error) int {
	c, ok := errors.AsType[*registry.ConflictError](err)
	if !ok || c.Reason != registry.NotEmpty || c.Op.Kind != registry.Delete {
		return 0
	}
	name, ok := strings.CutPrefix(c.Op.Path, j.at(nodeSharding)+"/")
	if !ok {
		return 0
	}
	i, ok := itemNumber(name)
	if !ok {
		return 0
	}
	return i + 1
}

// maxItems bounds what a foreign node can make us allocate.
const maxItems = 100_000

// itemNumber reads the name of an item; other names are not ours to touch.
func itemNumber(s string) (int, bool) {
	i, err := strconv.Atoi(s)
	if err != nil || i < 0 || i >= maxItems || strconv.Itoa(i) != s {
		return 0, false
	}
	return i, true
}
