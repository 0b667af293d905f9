package protocol

// Parents says whether the nodes are there below which members write, so that no member
// creates one that is.
type Parents struct {
	Shared bool // those of ElasticJob as well, which go with the job alone
	Latch  bool // the queue of members that want to lead; releases of ElasticJob delete it when it is empty
	Ours   bool // those of members and records of ours
	// Assignment: that node is there, also if it cannot be read.
	Assignment bool
}

// NodeSet is a set of numbered nodes.
type NodeSet uint32

// Has reports whether the set has a node.
func (s NodeSet) Has(node int) bool { return s>>node&1 != 0 }

// Set adds a node that exists, and removes one that does not.
func (s *NodeSet) Set(node int, exists bool) {
	if *s &^= 1 << node; exists {
		*s |= 1 << node
	}
}

// stands: the nodes are there that go with the job alone.
func (v *View) stands() bool { return v.Parents.Shared && v.Parents.Latch }

// complete: the nodes are there without which no member writes.
func (v *View) complete() bool { return v.Parents.Shared && v.Parents.Ours && v.Parents.Assignment }
