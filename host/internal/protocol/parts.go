package protocol

import "slices"

// A registry takes transactions of bounded size. A change of more items than fit is made in
// parts. Each part is valid alone, so the rules can handle a view between two parts.

// sizes is how large a transaction may be.
type sizes struct {
	items      int  // limit of items in a transaction, after a larger one failed; 0: only the limit of Options
	unanswered int  // number of transactions of several items, in a row, without an answer
	fitted     int  // number of transactions of as many items as the limit, in a row, that were applied
	patience   int  // the limit is raised when fitted reaches this
	grown      bool // the limit was raised after it was last lowered

	recordFull int // size in bytes that the own record would have with one more run, if it has no room for that; 0: it has room
}

// room holds the limits of a transaction, and how much of them is used.
type room struct {
	maxNodes int // 0: no limit
	nodes    int
	maxItems int // 0: no limit
	items    int
	cut      bool // maxItems left items out
	maxBytes int  // 0: no limit
	node     int  // bytes that a node takes besides its value
	record   int  // limit of the own record, in bytes
	weight   weight
	must     bool // the first item is taken whatever its size, since no wait would make room for it
}

// room is the whole room of a transaction, to be taken item by item. The answer to the
// transaction shows whether the registry takes as much: see sizes.
func (s *facts) room() *room {
	s.used = &room{maxNodes: s.o.MaxNodes, maxItems: s.size.items, maxBytes: s.o.MaxBytes, node: s.o.NodeBytes, record: s.o.MaxBytes}
	return s.used
}

// ending is the room for ends of runs in a transaction that also writes the own record.
// While the record has rows, ends that do not fit wait, because stored rows leave the
// record.
func (s *facts) ending(d *RunsData) *room {
	r := s.room()
	r.weight, r.must = s.weigh(d), len(d.Rows) == 0
	return r
}

// opening is the room for begins of runs in a transaction that also writes the own
// record. It is smaller than ending, so that the runs can end: a row takes more room than an
// open run.
func (s *facts) opening(d *RunsData) *room {
	r := s.room()
	r.weight, r.record = s.weigh(d), s.recordBound()
	return r
}

// weigh returns the weight of the record with room for the tallies that ends of runs add.
func (s *State) weigh(d *RunsData) weight {
	w := d.weight()
	if s.view.Fires.Followed {
		w.rest += tallyBytes * MaxTallies
	}
	return w
}

// recordBound is the size in bytes up to which runs begin. The eighth above it is for their
// ends.
func (s *State) recordBound() int { return s.o.MaxBytes - s.o.MaxBytes/8 }

// take reports whether one more item fits, with n nodes, and takes its room. The first always
// fits: it could never be written otherwise.
func (r *room) take(n int) bool {
	if r.items > 0 && r.maxNodes > 0 && r.nodes+n > r.maxNodes {
		return false
	}
	if r.items > 0 && r.maxItems > 0 && r.items >= r.maxItems {
		r.cut = true
		return false
	}
	r.nodes += n
	r.items++
	return true
}

// takeWith is take if the own record is written, too: w is its weight with the item. The
// first item must fit as well, unless must is set.
func (r *room) takeWith(n int, w weight) bool {
	if first := r.items == 0 && r.must; !first && !r.holds(n, w.bytes()) || !r.take(n) {
		return false
	}
	r.weight = w
	return true
}

// holds reports whether, with n more nodes, there is room for so many bytes of values in all.
// They count as the own record's.
func (r *room) holds(n, bytes int) bool {
	return r.maxBytes == 0 || bytes <= r.record && (r.nodes+n)*r.node+bytes <= r.maxBytes
}

// several reports whether the transaction has several items, so that fewer may be tried.
func (r *room) several() bool { return r != nil && r.items > 1 }

// overfull notes that the own record has no room for even one more run. While it has rows
// it gets smaller by itself.
func (s *facts) overfull(r *room, d *RunsData, w weight) {
	if r.items == 0 && len(d.Rows) == 0 && !r.holds(0, w.bytes()) {
		s.recordFull = w.bytes()
	}
}

// recordFits: the own record may take runs again.
type recordFits struct{}

// keep forgets that the record had no room; overfull notes it again.
func (recordFits) keep(s *State, _ *Plan) { s.size.recordFull = 0 }

// lostInARow is the number of missing answers in a row after which the size is assumed to be
// the cause: some registries close the connection when a transaction is too large for them.
const lostInARow = 4

// grownAfter is the number of applied transactions of the greatest size after which larger
// ones are tried. Each failure of a larger one doubles that number, up to maxPatience.
const grownAfter = 8

// noAnswer counts a transaction without an answer, and halves the limit after several in a
// row. One of a single item cannot be too large for its number of items.
func (z *sizes) noAnswer(r *room) {
	if !r.several() {
		return
	}
	z.fitted = 0
	if z.unanswered++; z.unanswered >= lostInARow {
		z.unanswered = 0
		z.shrink(r)
	}
}

// shrink halves the limit after a transaction of r.items items has failed.
func (z *sizes) shrink(r *room) {
	z.items, z.fitted = r.items/2, 0
	if z.grown {
		z.patience = min(2*z.patience, maxPatience)
	}
	z.patience, z.grown = max(z.patience, grownAfter), false
}

const maxPatience = 1 << 12

// grow counts an applied transaction. An earlier one may have failed because of the network,
// or of a setting that has changed since. So after some transactions that the limit of items
// has cut, larger ones are tried again. The limit ends when it reaches most, the limit of
// nodes. Only transactions of several items, or cut to one, say anything about the limit.
func (z *sizes) grow(r *room, most int) {
	if !r.several() && (r == nil || !r.cut) {
		return
	}
	z.unanswered = 0
	if z.items == 0 || !r.cut {
		return
	}
	if z.fitted++; z.fitted < z.patience {
		return
	}
	z.items, z.fitted, z.grown = 2*z.items, 0, true
	if most > 0 && z.items >= most {
		z.items, z.patience, z.grown = 0, 0, false
	}
}

// first returns the items that fit, at one node each.
func (r *room) first(items []int) []int {
	for k := range items {
		if !r.take(1) {
			return items[:k]
		}
	}
	return items
}

// fullTimes is how many times MaxUnstored rows a record may have. Begins wait long before
// that; ends, and rows of dead members, wait from then on.
const fullTimes = 5

// rowsLeft is the number of rows that a record may still take, since a node holds 1 MiB.
// Without MaxUnstored it is more than there ever are.
func (s *State) rowsLeft(d *RunsData) int {
	if s.o.MaxUnstored == 0 {
		return 10 * maxRows
	}
	return max(fullTimes*s.o.MaxUnstored-len(d.Rows), 0)
}

const maxRows = 100_000

// parts is a reshard whose items' nodes are written in further transactions, as long as the
// facts on which it was decided do not change.
type parts struct {
	epoch int32 // the epoch that the Reshard began
	mark  int32 // version of the mark that asked for the reshard
	// deletesOwners: all owners' nodes that differ are deleted, some time before the first
	// of them is created again.
	deletesOwners bool
	since         int64 // when owners' nodes were last deleted
}

// ownersAlone is the room for nodes of items in a transaction that writes no value of ours,
// so there is room for half as many again.
func (s *facts) ownersAlone() *room {
	r := s.room()
	r.maxNodes += r.maxNodes / 2
	r.maxItems += r.maxItems / 2
	return r
}

// ownAssignmentSet reports whether only parts of our own Reshard are left to write: the
// assignment is still the one that it wrote, fits the present members and total, and no
// other reshard was requested since.
func (s *State) ownAssignmentSet(eligible []ID) bool {
	v := s.view
	return s.reshard.parts != nil && v.Assignment.Version == s.reshard.parts.epoch && v.NecessaryV == s.reshard.parts.mark && v.Assignment.fits(v.total(), eligible)
}

// owners returns the writes that make the items' nodes match the assignment. It stops at the
// first item whose writes do not fit into r. Last says that all fit.
func (s *State) owners(a *Assignment, r *room) Owners {
	var m Owners
	for i, owner := range a.Owners {
		it := s.view.item(i)
		nodes := 0
		if !it.Exists {
			nodes++
		}
		if it.Owner != owner {
			nodes++
		}
		if nodes == 0 {
			continue
		}
		if !r.take(nodes) {
			return m
		}
		m.Write = append(m.Write, i)
	}
	for i := a.Total; i < len(s.view.Items); i++ {
		it := s.view.item(i)
		if !it.Exists {
			continue
		}
		keep := s.nodeStays(i)
		nodes := it.countMarks()
		if !keep {
			nodes++ // the item's own node
		}
		switch {
		case nodes > 0 && !r.take(nodes):
			return m
		case keep:
			m.Clear = append(m.Clear, i)
		default:
			m.Remove = append(m.Remove, i)
		}
	}
	m.Last = true
	return m
}

// differingOwners lists the items whose owner's node differs from the assignment, up to the
// first that does not fit into r.
func (s *State) differingOwners(a *Assignment, r *room) []int {
	var items []int
	for i, owner := range a.Owners {
		if it := s.view.item(i); it.Owner != "" && it.Owner != owner {
			items = append(items, i)
		}
	}
	return r.first(items)
}

// writeOwners writes the nodes of a reshard in parts. Foreign members read owners from a
// cache that lags, but read a node directly if the cache does not have it. So beside them
// changed nodes are deleted first, and created again only after the caches have followed.
// Since the Reshard was decided, the former leader may have written other owners as well.
func (s *facts) writeOwners() Mutation {
	a := &s.view.Assignment
	if s.reshard.parts.deletesOwners || s.company.shared {
		if items := s.differingOwners(a, s.ownersAlone()); len(items) > 0 {
			return Owners{DeleteOwners: items}
		}
	}
	if s.reshard.parts.deletesOwners {
		if until := s.reshard.parts.since + lag(a.Total); s.now < until {
			s.hold(until)
			return nil
		}
		s.note(ownersDeleted{})
	}
	return s.owners(a, s.ownersAlone())
}

// ownersDeleted: the caches have followed the deletion of owners' nodes.
type ownersDeleted struct{}

// keep notes that owners' nodes may be created again.
func (ownersDeleted) keep(s *State, _ *Plan) { s.reshard.parts.deletesOwners = false }

// restore makes owners' nodes match the assignment while the strategy fails. Parts of a
// reshard may be missing, and an item whose node and assignment differ does not begin.
// Beside foreign members, only deleted nodes are created again, and only after a pause in
// which foreign caches follow. The former leader may delete more of them at any time.
func (s *facts) restore(eligible []ID) Mutation {
	v := s.view
	r, items := s.ownersAlone(), []int(nil)
	for i, owner := range v.Assignment.Owners[:min(v.total(), len(v.Assignment.Owners))] {
		it := v.item(i)
		named := it.Owner == owner || it.Owner != "" && s.company.shared
		// A running item is left alone, and an owner that may not own items gets no node.
		if it.Exists && !named && it.Running == 0 && slices.Contains(eligible, owner) && r.take(1) {
			items = append(items, i)
		}
	}
	if len(items) == 0 {
		s.note(ownerless{})
		return nil
	}
	seen := s.reshard.ownerless
	if !seen.has(items) {
		seen = ownerless{items, s.now}
		s.note(seen)
	}
	if until := seen.since + lag(v.total()); s.company.shared && s.now < until {
		s.hold(until)
		return nil
	}
	return Owners{Write: items}
}

// ownerless lists the items without an owner's node, and when that set was first seen.
type ownerless struct {
	items []int
	since int64
}

// keep remembers the set; with none, the next one counts from when it is first seen.
func (o ownerless) keep(s *State, _ *Plan) { s.reshard.ownerless = o }

// has reports whether all the items are in the set, so that since counts for them.
func (o ownerless) has(items []int) bool {
	return !slices.ContainsFunc(items, func(i int) bool { return !slices.Contains(o.items, i) })
}

// lag is the time, in ms, within which a foreign member learns of changes of all items.
func lag(total int) int64 { return 20 + int64(total)/10 }

// nodesToEnd is the number of nodes that are deleted when a run of the item ends.
func (it Item) nodesToEnd() int {
	nodes := 0
	if it.Running != 0 {
		nodes++
	}
	if it.Failover != "" {
		nodes++
	}
	return nodes
}

// countMarks returns the number of marks below the item, including the owner's node.
func (it Item) countMarks() int {
	nodes := 0
	for _, exists := range []bool{it.Owner != "", it.Marked(), it.Misfire, it.Disabled, it.Failover != ""} {
		if exists {
			nodes++
		}
	}
	return nodes
}
