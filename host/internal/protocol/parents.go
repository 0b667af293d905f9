package protocol

// Parents reports which parents of the nodes that members write exist, so that no member
// creates an existing one.
type Parents struct {
	Shared bool // ElasticJob's, which only the job's removal deletes
	Latch  bool // the election latch; releases of ElasticJob delete it when it is empty
	Ours   bool // those for our members and records
	// Assignment reports whether that node exists, even if it cannot be read.
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

// stands reports whether ElasticJob's parents and the election latch exist. A tool that
// removes the job deletes them.
func (v *View) stands() bool { return v.Parents.Shared && v.Parents.Latch }

// complete reports whether all nodes exist that members need to write.
func (v *View) complete() bool { return v.Parents.Shared && v.Parents.Ours && v.Parents.Assignment }
