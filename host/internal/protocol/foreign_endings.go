package protocol

// Went shows whether an instance or a mark went first.
type Went struct {
	InstancesChanged int64   // revision at which an instance last came or went
	InstancesVersion int32   // number of instances that came or went
	MarksChanged     []int64 // by item: revision at which a mark last came or went; 0: not read for this view
}

// Unclear lists items whose run may have ended in either of two ways: the view before shows
// a foreign member's mark, and in this one both mark and member are gone. If both went in
// one transaction, the member died in the run; if the mark went first, the run had ended.
// MarksChanged tells, once it is read. A mark that outlived its session needs no such
// check.
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

// endedFirst reports whether the item's mark went before the one instance that has gone since
// the view before, so that the run had ended. If other instances came or went as well, this
// is unknown.
func (s *State) endedFirst(i int) bool {
	v := s.view
	changed := at(v.MarksChanged, i)
	return changed != 0 && changed < v.InstancesChanged && v.InstancesVersion == s.evidence.instances+1
}
