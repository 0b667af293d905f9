package protocol

import "slices"

// occupied is a surplus item whose node cannot be deleted, as it was then.
type occupied struct {
	number int
	item   Item
}

// holdsNothingOfOurs: no node of ours is below the item.
func (it Item) holdsNothingOfOurs() bool { return it == Item{Exists: true, Marks: it.Marks} }

// occupy notes the surplus item that kept a reshard from being applied. The mirror does
// not read the nodes of foreign members, so the core learns of them by this.
func (s *State) occupy(in Committed, f *flight) {
	i := in.Occupied - 1
	var remove []int
	switch m := f.m.(type) {
	case Reshard:
		remove = m.Remove
	case Owners:
		remove = m.Remove
	default: // no other removes items
	}
	if !slices.Contains(remove, i) {
		return
	}
	s.reshard.occupied = slices.DeleteFunc(s.reshard.occupied, func(o occupied) bool { return o.number == i })
	s.reshard.occupied = append(s.reshard.occupied, occupied{i, f.view.item(i)})
}

// nodeStays: the node of a surplus item cannot go. Another mark may have been the cause,
// and be gone, if the item has changed since that was found, but for nodes of ours that
// were cleared.
func (s *State) nodeStays(i int) bool {
	it := s.view.item(i)
	return slices.ContainsFunc(s.reshard.occupied, func(o occupied) bool {
		return o.number == i && (o.item == it || it.holdsNothingOfOurs() && it.Marks == o.item.Marks)
	})
}
