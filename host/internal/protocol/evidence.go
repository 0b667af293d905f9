package protocol

import "slices"

// evidence is what this member has seen of foreign members.
type evidence struct {
	watched bool // foreign members may have had for long what they have in the first view
	members []foreignMember
	// ran is, by item, when a foreign member was last seen to begin it or, if it never
	// was, the moment up to which it was accounted for when it became a foreign
	// member's; 0: no foreign member has it. An instant during a run is not part of it.
	ran   []int64
	holes []int64   // by item: up to where instants may not have been run, or were not seen
	ended []int64   // by item: when the mark was there last
	marks []int32   // by item: as Item.Marks was then
	late  []lateRun // by item: what a foreign member ran of it when it had moved here
	stray []int64   // by item: since when it has a mark that a member which is gone has left; 0: it has none
	// instances counts the instances that have come or gone.
	instances int32
	left      []foreignPending // ascending by item
	// pending are our runs that wait for a taker, taken those that a foreign member has
	// taken and that have no row of it yet.
	pending []Pending
	taken   []Row
	// noFailover is since when failover is off; 0: it is on.
	noFailover int64
}

// lateRun is a run that a foreign member began of an item that had moved to one of ours.
// It had looked before.
type lateRun struct {
	session int64 // that marks the item; 0: it has ended
	at      int64 // when the newest one began; 0: there was none
	hole    int64 // as evidence.holes
}

// foreignPending is a pending run that a foreign member wrote, and when it was first
// seen.
type foreignPending struct {
	item     int
	modified int64 // revision that wrote it
	since    int64
}

// grace is how long, in ms, a foreign member may be gone before it counts as dead: when
// its connection comes back it deletes its instance and creates another. Before that it
// writes its server's node, so that node must be unchanged for as long.
const grace = 500

// isSession reports whether the session is that of a foreign member.
func (w *evidence) isSession(session int64) bool {
	return slices.ContainsFunc(w.members, func(t foreignMember) bool { return t.session == session })
}
