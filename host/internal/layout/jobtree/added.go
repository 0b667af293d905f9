package jobtree

import "slices"

// Added lists the nodes that not all layouts have, and how nodes identify members. Create
// it with Adding: jobs share it, so it is never changed.
type Added struct {
	// Root: a part of the configuration is in the job's own node.
	Root bool
	// Trigger: a request to a member is a node of its own.
	Trigger bool
	// Failovering: the taker of an item is named by a node that outlives its session.
	Failovering bool
	// ByAddress: a member is identified by the address of its server alone, and its nodes
	// are below that server's node.
	ByAddress bool
	// PauseKeepsItems: a server that an operator pauses begins nothing, and keeps its items.
	PauseKeepsItems bool
	// Keys are the keys of the configuration, in the order in which members write them, if each
	// is a node below config; nil: config has all of them.
	Keys []string
	// Offsets: a node has what members of ElasticJob store from one run of an item to the
	// next.
	Offsets bool

	watched, marks []string
}

// Adding completes a layout's Added: it derives from its fields which nodes a mirror
// follows.
func Adding(a Added) *Added {
	a.watched, a.marks = slices.Clone(watched), slices.Clone(marks)
	if a.Trigger {
		a.watched = append(a.watched, NodeTrigger)
	}
	if a.Failovering {
		a.marks = append(a.marks, MarkFailovering)
	}
	if a.ByAddress {
		a.watched, a.marks = byAddress(a.watched), addressedMarks
	}
	return &a
}

// Nodes of an item, as Item.Nodes numbers them.
const (
	failovering     = iota // the node exists
	onlyFailovering        // only that node names the taker
	completed
	lastBegin
	lastEnd
	nextFire
)
