package protocol

import "slices"

// evidence is what this member has seen of foreign members.
type evidence struct {
	watched bool // a view has been watched; before the first one, foreign members may have had marks for long
	members []foreignMember
	// ran is, by item of a foreign member, when a foreign member was last seen to begin it.
	// If none was, it is the moment up to which the item was accounted for when a foreign
	// member got it. An instant that came during that run is not accounted for. 0: no foreign
	// member has the item.
	ran   []int64
	holes []int64   // by item: instants up to here may not have been run, or their runs were not seen
	ended []int64   // by item: when its running mark was last seen
	marks []int32   // by item: Item.Marks at that time
	late  []lateRun // by item of ours: the run that a foreign member began of it after it had moved here
	stray []int64   // by item: when a mark that outlived its member was first seen; 0: it has none
	// instances is how many instances had come or gone at the last view.
	instances int32
	left      []foreignPending // ascending by item
	// pending are our runs that wait for a taker. taken are rows, not written yet, of those
	// that a foreign member has taken.
	pending []Pending
	taken   []Row
	// failoverOffSince is when failover was first seen off; 0: it is on, or the job has no
	// configuration.
	failoverOffSince int64
}

// lateRun is a run of an item that a foreign member began after the item had moved to one
// of ours, because it had read the owner before.
type lateRun struct {
	session int64 // the session that marks the item; 0: the run has ended
	at      int64 // when the newest such run began; 0: there was none
	hole    int64 // like evidence.holes
}

// foreignPending is a pending run that a foreign member wrote, and when it was first
// seen.
type foreignPending struct {
	item     int
	modified int64 // revision that wrote it
	since    int64
}

// grace is how long, in ms, a foreign member must be gone before it counts as dead. When
// its connection comes back, it deletes its instance and creates another. Before that it
// writes its server's node, so that node must be unchanged for as long.
const grace = 500

// isSession reports whether the session is that of a foreign member, as it was last seen.
func (w *evidence) isSession(session int64) bool {
	return slices.ContainsFunc(w.members, func(t foreignMember) bool { return t.session == session })
}
