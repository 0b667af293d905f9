package jobtree

import "github.com/wasmjob/wasmjob/host/internal/layout/spelling"

const (
	// nodeBytes is the size of a write without its path and data: lengths, kind, version
	// and access rights.
	nodeBytes = 60
	// tailBytes is the length of the longest path of an item's node below the job, and
	// idBytes the usual length of an id.
	tailBytes, idBytes = len("/" + NodeFailoverItems + "/99999"), 24
)

// MaxNodes is the number of items' nodes that a transaction of this job may write in
// addition to values of ours. A chroot or long ids may still make it too large; then the
// core makes smaller transactions.
func (j Job) MaxNodes() int { return (spelling.MaxBytes - spelling.MaxValues) / j.NodeBytes() }

// NodeBytes is the size of one item's node as it is sent. Where an item has several nodes,
// of which the core counts fewer, it is the size of as many of them as stand for one.
func (j Job) NodeBytes() int {
	n := len(j.root) + tailBytes + idBytes + nodeBytes
	if j.added != nil && j.added.Failovering {
		n += n / 2 // a taken run has three nodes, of which the core counts two
	}
	if j.byAddress() {
		n *= nodesOfRun
	}
	return n
}
