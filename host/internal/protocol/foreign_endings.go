package protocol

// Went says which of an instance and a mark went first.
type Went struct {
	InstancesChanged int64   // revision at which an instance came or went last
	InstancesVersion int32   // how many have
	MarksChanged     []int64 // by item: revision at which a mark came or went last; 0: it was not read for this view
}

// Unclear lists items whose run has ended in a way that the view does not show: a
// foreign member marked it in the view before, and in this one both mark and member are
// gone. The member died in the run if both went in one transaction, and ended it if the
// mark went first. MarksChanged shows that, once it is read. A mark that outlived its
// session says so by itself.
func (v *View) Unclear(before *View) (items []int) {
	if before == nil || v.InstancesVersion == before.InstancesVersion {
		return nil
	}
	for _, in := range before.Instances {
		if before.member(in.ID) || v.instance(in.ID) != nil {
			continue
		}
		for i := range before.Items {
			if it := v.item(i); before.Items[i].Running == in.Owner && it.Exists && !it.Marked() {
				items = append(items, i)
			}
		}
	}
	return items
}

// endedFirst reports whether the mark of the item went before an instance that was in
// the view before. This is not known if others came or went as well.
func (s *State) endedFirst(i int) bool {
	v := s.view
	changed := at(v.MarksChanged, i)
	return changed != 0 && changed < v.InstancesChanged && v.InstancesVersion == s.evidence.instances+1
}
