package protocol

// A retry moves with its item. If a member no longer owns the item, or leaves, it makes the
// retry pending, with the moment before which it must not begin. The item's new owner
// begins it, with the attempt that it would have had. Other members do not take it, because
// no attempt of it is open.
//
// Foreign members take every pending run at once. So beside them a retry is not made
// pending, and one that is pending already is taken like any other run.

// retriesElsewhere reports whether the item's retry does not begin here, because the member
// leaves or the item has moved. During a reshard the item may still come back.
func (s *State) retriesElsewhere(i int) bool {
	return s.session.leaving || !s.mine(i) && s.reshard.since == 0
}

// waitsHere reports whether the pending run is a retry that this member is to begin, as the
// item's owner.
func (s *State) waitsHere(p *Pending) bool { return s.view.waits(p) && s.mine(p.Item) }

// moved begins retries of former owners that have waited long enough. A member that does
// not know the newest instant yet waits for it, because that instant may have overtaken
// them.
func (b *beginning) moved() {
	s := b.s
	if s.undated() {
		return
	}
	for k := range s.view.Pending {
		p := &s.view.Pending[k]
		i := p.Item
		if !s.waitsHere(p) || s.now < p.After || s.later(p.Entry) || s.paused() || s.view.item(i).Disabled || s.busy(i) || b.taken[i] || b.blocked(i) != "" {
			continue
		}
		e := p.Entry
		e.Begun = s.now
		if b.fits(e, nil) {
			b.m.DeletePending = append(b.m.DeletePending, i)
			b.add(e)
		}
	}
}
