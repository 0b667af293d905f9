package protocol

import "slices"

// A registry takes transactions of bounded size. What concerns more items than
// fit is done in parts, each of which is a step that could stand alone: whoever
// looks between two of them sees a state that the rules know anyway.

// room is what a transaction may still write.
type room struct {
	max    int // nodes; 0: no bound
	nodes  int
	few    int // items; 0: no bound
	items  int
	cut    bool // few kept items out
	most   int  // bytes; 0: no bound
	node   int  // bytes of a node
	record int  // bytes of the own record
	weight weight
	must   bool // the first item is taken whatever its bytes: no wait makes room for it
}

func (s *State) room() *room {
	s.used = &room{max: s.o.MaxNodes, few: s.smaller, most: s.o.MaxBytes, node: s.o.NodeBytes, record: s.o.MaxBytes}
	return s.used
}

// ending is room beside the own record for what ends. Rows leave the record when
// they are stored; while it has some, those that do not fit wait.
func (s *State) ending(d *RunsData) *room {
	r := s.room()
	r.weight, r.must = d.weight(), len(d.Rows) == 0
	return r
}

// opening is room beside the own record for runs. They leave some for their ends.
func (s *State) opening(d *RunsData) *room {
	r := s.room()
	r.weight, r.record = d.weight(), s.recordBound()
	return r
}

func (s *State) recordBound() int { return s.o.MaxBytes - s.o.MaxBytes/8 }

// take tells whether one more item fits, with n nodes. The first always does.
func (r *room) take(n int) bool {
	if r.items > 0 && r.max > 0 && r.nodes+n > r.max {
		return false
	}
	if r.items > 0 && r.few > 0 && r.items >= r.few {
		r.cut = true
		return false
	}
	r.nodes += n
	r.items++
	return true
}

// takeWith tells whether one more item fits, with which the record has the weight
// w.
func (r *room) takeWith(n int, w weight) bool {
	if first := r.items == 0 && r.must; !first && !r.holds(n, w.bytes()) || !r.take(n) {
		return false
	}
	r.weight = w
	return true
}

// holds tells whether the nodes so far, and n more, leave room for so many bytes
// of values.
func (r *room) holds(n, bytes int) bool {
	return r.most == 0 || bytes <= r.record && (r.nodes+n)*r.node+bytes <= r.most
}

func (r *room) several() bool { return r != nil && r.items > 1 }

// overfull notes that not even one more run fits into the own record. While it
// has rows, it gets smaller by itself.
func (s *State) overfull(r *room, d *RunsData, w weight) {
	if r.items == 0 && len(d.Rows) == 0 && !r.holds(0, w.bytes()) {
		s.full = w.bytes()
	}
}

// lostInARow is how many answers are missed before that is thought to be because
// of the size: some registries hang up on whoever sends more than they take.
const lostInARow = 4

// grownAfter is how many transactions as large as they may be are applied in a
// row before larger ones are tried. Each time those fail it takes twice as many.
const grownAfter = 8

// unanswered halves what a transaction may concern when one after the other had
// no answer.
func (s *State) unanswered(r *room) {
	if !r.several() {
		return
	}
	s.fitted = 0
	if s.lost++; s.lost >= lostInARow {
		s.lost = 0
		s.shrink(r)
	}
}

// shrink lets a transaction concern half as many items as one that failed.
func (s *State) shrink(r *room) {
	s.smaller, s.fitted = r.items/2, 0
	if s.grown {
		s.patience = min(2*s.patience, maxPatience)
	}
	s.patience, s.grown = max(s.patience, grownAfter), false
}

const maxPatience = 1 << 12

// grow is told of each transaction that was applied. What was too large once may
// have been so because of the network, or of a setting that has changed: after
// some that had no room for more it is tried again, up to what Options say.
func (s *State) grow(r *room) {
	if !r.several() && (r == nil || !r.cut) {
		return
	}
	s.lost = 0
	if s.smaller == 0 || !r.cut {
		return
	}
	if s.fitted++; s.fitted < s.patience {
		return
	}
	s.smaller, s.fitted, s.grown = 2*s.smaller, 0, true
	if s.o.MaxNodes > 0 && s.smaller >= s.o.MaxNodes {
		s.smaller, s.patience, s.grown = 0, 0, false
	}
}

// first are the items that fit, at one node each.
func (r *room) first(items []int) []int {
	for k := range items {
		if !r.take(1) {
			return items[:k]
		}
	}
	return items
}

// fullTimes is how many times MaxUnstored a record may have in rows. Begins
// wait long before; ends, and rows of the dead, wait for this.
const fullTimes = 5

// rowsLeft is how many rows a record may still take: a node holds 1 MiB.
func (s *State) rowsLeft(d *RunsData) int {
	if s.o.MaxUnstored == 0 {
		return 10 * maxRows
	}
	return max(fullTimes*s.o.MaxUnstored-len(d.Rows), 0)
}

const maxRows = 100_000

// parts is a reshard whose items' nodes are written in transactions of their
// own, as long as what it was decided on stands.
type parts struct {
	epoch int32 // that it began
	mark  int32 // version of the mark that it answers
	// strip: nodes of owners that differ are deleted, all of them and some time
	// before the first is made anew.
	strip bool
	since int64 // when the newest were deleted
}

// ownersAlone is room for the nodes of items without a value of ours beside them.
func (s *State) ownersAlone() *room {
	r := s.room()
	r.max += r.max / 2
	r.few += r.few / 2
	return r
}

// dealt: the assignment is the one that our own Reshard set, for the members
// and the total that are there, and nobody has asked for another since.
func (s *State) dealt(eligible []ID) bool {
	v := s.view
	return s.parts != nil && v.Assignment.Version == s.parts.epoch && v.NecessaryV == s.parts.mark && v.Assignment.fits(v.total(), eligible)
}

// owners is what has to be written for the items' nodes to say what the
// assignment does, as much of it as fits.
func (s *State) owners(a *Assignment, r *room) Owners {
	var m Owners
	for i, owner := range a.Owners {
		it := s.view.item(i)
		n := 0
		if !it.Exists {
			n++
		}
		if it.Owner != owner {
			n++
		}
		if n == 0 {
			continue
		}
		if !r.take(n) {
			return m
		}
		m.Write = append(m.Write, i)
	}
	for i := a.Total; i < len(s.view.Items); i++ {
		it := s.view.item(i)
		if !it.Exists {
			continue
		}
		keep := s.keeps(i)
		n := it.marks()
		if !keep {
			n++
		}
		switch {
		case n > 0 && !r.take(n):
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

// stripped are the items whose nodes name another owner than the assignment, as
// many as fit.
func (s *State) stripped(a *Assignment, r *room) []int {
	var items []int
	for i, owner := range a.Owners {
		if it := s.view.item(i); it.Owner != "" && it.Owner != owner {
			items = append(items, i)
		}
	}
	return r.first(items)
}

// deal writes the nodes of a reshard in parts. Members of ElasticJob read owners
// from a copy that lags behind, but look for a node that the copy does not have:
// so beside them what changes is deleted first, and not made before the copies
// have heard of that. Owners that differ may also have appeared since the Reshard
// was decided, from the leader before.
func (s *State) deal() Mutation {
	a := &s.view.Assignment
	if s.parts.strip || s.view.foreign() {
		if strip := s.stripped(a, s.ownersAlone()); len(strip) > 0 {
			return Owners{Strip: strip}
		}
	}
	if s.parts.strip {
		if until := s.parts.since + lag(a.Total); s.now < until {
			s.hold(until)
			return nil
		}
		s.parts.strip = false
	}
	return s.owners(a, s.ownersAlone())
}

// restore makes owners' nodes say what the assignment does, while no strategy says
// anything newer: parts of a reshard may be left, whose nodes name nobody who begins.
// Beside members of ElasticJob these are the nodes that were deleted, which copies
// have to hear of first. The leader before may delete more of them at any time.
func (s *State) restore(eligible []ID) Mutation {
	v := s.view
	r, items := s.ownersAlone(), []int(nil)
	for i, owner := range v.Assignment.Owners[:min(v.total(), len(v.Assignment.Owners))] {
		it := v.item(i)
		named := it.Owner == owner || it.Owner != "" && v.foreign()
		if it.Exists && !named && it.Running == 0 && slices.Contains(eligible, owner) && r.take(1) {
			items = append(items, i)
		}
	}
	if len(items) == 0 {
		s.bereft = bereft{}
		return nil
	}
	if !s.bereft.has(items) {
		s.bereft = bereft{items, s.now}
	}
	if until := s.bereft.since + lag(v.total()); v.foreign() && s.now < until {
		s.hold(until)
		return nil
	}
	return Owners{Write: items}
}

// bereft are items without an owner's node, and since when no other was seen to be.
type bereft struct {
	items []int
	since int64
}

func (b bereft) has(items []int) bool {
	return !slices.ContainsFunc(items, func(i int) bool { return !slices.Contains(b.items, i) })
}

// lag is how long, in ms, a member of ElasticJob may take to hear of all items.
func lag(total int) int64 { return 20 + int64(total)/10 }

// ended is how many nodes go when a run of the item ends.
func (it Item) ended() int {
	n := 0
	if it.Running != 0 {
		n++
	}
	if it.Failover != "" {
		n++
	}
	return n
}

// marks is how many nodes of ours are below the item.
func (it Item) marks() int {
	n := 0
	for _, there := range []bool{it.Owner != "", it.Running != 0 || it.RunningP, it.Misfire, it.Disabled, it.Failover != ""} {
		if there {
			n++
		}
	}
	return n
}
