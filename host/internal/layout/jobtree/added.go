package jobtree

import "slices"

// Added are nodes that not all layouts have, and what names a member there. Create it
// with Adding: jobs share it, and nobody changes it.
type Added struct {
	// Root: a part of the configuration is in the job's own node.
	Root bool
	// Trigger: what is asked of a member is a node of its own.
	Trigger bool
	// Failovering: who has taken over an item is told by a node that outlives its session.
	Failovering bool
	// ByAddress: a member is known by the address of its server alone, below whose node
	// all is that tells of it.
	ByAddress bool
	// PauseKeepsItems: a server that an operator pauses begins nothing, and no other one gets
	// its items.
	PauseKeepsItems bool
	// Keys are those of the configuration, in the order in which members write them, where
	// each is a node below config; nil: config has them all.
	Keys []string
	// Offsets: a node has what members of ElasticJob keep from one run of an item to the next.
	Offsets bool

	watched, marks []string
}

// Adding completes what a layout adds.
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
	failovering     = iota // the node is there
	onlyFailovering        // it alone says who has taken the item over
	completed
	lastBegin
	lastEnd
	nextFire
)
