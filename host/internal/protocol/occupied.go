package protocol

import "slices"

// occupied is a surplus item whose node could not be deleted, with its state at that time.
type occupied struct {
	number int
	item   Item
}

// holdsNothingOfOurs reports whether no node that the view shows is below the item. The count
// of marks stays when they are gone.
func (it Item) holdsNothingOfOurs() bool { return it == Item{Exists: true, Marks: it.Marks} }

// occupy notes the surplus item whose node the registry refused to delete, since a node that
// is not ours is below it; that kept the reshard f from being applied. The mirror does not
// read nodes of others, so the core learns of them only in this way. The next reshard leaves
// the node there.
func (s *State) occupy(in Committed, f *flight) {
	i := in.Occupied - 1
	var remove []int
	switch m := f.m.(type) {
	case Reshard:
		remove = m.Remove
	case Owners:
		remove = m.Remove
	default: // only these remove items
	}
	if !slices.Contains(remove, i) {
		return
	}
	s.reshard.occupied = slices.DeleteFunc(s.reshard.occupied, func(o occupied) bool { return o.number == i })
	s.reshard.occupied = append(s.reshard.occupied, occupied{i, f.view.item(i)})
}

// nodeStays reports whether the node of a surplus item cannot be deleted. If the item has
// changed since that was found, except for nodes of ours that were cleared, a mark may have
// been the cause and be gone.
func (s *State) nodeStays(i int) bool {
	it := s.view.item(i)
	return slices.ContainsFunc(s.reshard.occupied, func(o occupied) bool {
		return o.number == i && (o.item == it || it.holdsNothingOfOurs() && it.Marks == o.item.Marks)
	})
}
