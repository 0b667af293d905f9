package protocol

// Went tells which of an instance and a mark went first.
type Went struct {
	InstancesChanged int64   // revision at which an instance came or went last
	InstancesVersion int32   // how many have
	MarksChanged     []int64 // by item: revision at which a mark came or went last; 0: it was not read for this view
}

// Unclear lists items of which the view does not tell how a run came to its end: a
// foreign member marked it in the view before, and in this one the mark and
// the member are gone. It died in the run if both went in one transaction, and has
// ended it if the mark went first. MarksChanged tells, once it is read.
func (v *View) Unclear(before *View) (items []int) {
	if before == nil || v.InstancesVersion == before.InstancesVersion {
		return nil
	}
	for _, in := range before.Instances {
		if before.member(in.ID) || v.instance(in.ID) != nil {
			continue
		}
		for i := range before.Items {
			if before.Items[i].Running == in.Owner && v.item(i).Exists && v.item(i).Running == 0 {
				items = append(items, i)
			}
		}
	}
	return items
}

// endedFirst tells whether the mark of the item went before an instance that is
// gone since the view before. It is not known if others came or went as well.
func (s *State) endedFirst(i int) bool {
	v := s.view
	changed := at(v.MarksChanged, i)
	return changed != 0 && changed < v.InstancesChanged && v.InstancesVersion == s.evidence.instances+1
}
