package v21

import "github.com/wasmjob/wasmjob/host/internal/protocol"

const (
	// maxTransaction is what one transaction may have, in bytes as it is sent.
	// ZooKeeper closes the connection of who sends 1 MiB.
	maxTransaction = 900 << 10
	// maxValues is the part of it that is left to values of ours: a record and
	// an assignment.
	maxValues = 250 << 10
	// nodeBytes is what a write has beside its path and data: lengths, kind,
	// version, and who may do what with it.
	nodeBytes = 60
	// tailBytes is the longest path of an item's node below the job, and idBytes
	// what an id has as a rule.
	tailBytes, idBytes = len("/" + nodeFailoverItems + "/99999"), 24
)

// MaxNodes is how many nodes of items a transaction of this job may write beside
// values of ours. A chroot, or long ids, may still make it too large: then the
// core makes smaller ones.
func (j Job) MaxNodes() int { return (maxTransaction - maxValues) / j.NodeBytes() }

// NodeBytes is what one of them has as it is sent.
func (j Job) NodeBytes() int { return len(j.root) + tailBytes + idBytes + nodeBytes }

// MaxBytes is what nodes and values of one transaction may have together. The rest
// of what ZooKeeper takes is for the checks of other nodes.
const MaxBytes = maxTransaction

// maxRanges and maxMoments are where the core counts on them.
const (
	maxRanges  = protocol.MaxRanges
	maxMoments = protocol.MaxMoments
)
