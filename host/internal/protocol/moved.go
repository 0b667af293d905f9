package protocol

// A run that waits to be tried again goes where its item goes. A member that does
// not own the item any more, or leaves, makes it pending, with the moment before
// which it is not to begin; whoever owns the item then begins it, as the attempt
// that it would have been. Nobody takes it: its failed attempt has ended, and the
// next one has not begun, so there is nothing to take over.
//
// Foreign members take whatever is pending, at once. So beside them a run that waits
// for its item is not made pending, and one that is pending already waits for a taker.

// retriesElsewhere: what waits for the item does not begin here.
func (s *State) retriesElsewhere(i int) bool {
	return s.session.leaving || !s.mine(i) && s.reshard.since == 0
}

// waiting is the pending run of the item that its owner is to try again, or nil.
func (v *View) waiting(i int) *Pending {
	if p := v.pending(i); p != nil && v.waits(p) {
		return p
	}
	return nil
}

// waits: the run waits for the owner of its item, not for a taker.
func (v *View) waits(p *Pending) bool { return p.After != 0 && !v.Shared() }

// waitsHere: it is to be tried again by this member.
func (s *State) waitsHere(p *Pending) bool { return s.view.waits(p) && s.mine(p.Item) }

// awaitsTaker: a run of the item waits for a taker.
func (v *View) awaitsTaker(i int) bool { return v.pending(i) != nil && v.waiting(i) == nil }

// moved begins what waited at another member and has waited long enough. Who does
// not know yet which instant is the newest waits until it does: one may have come
// that overtakes it.
func (b *beginning) moved() {
	s := b.s
	if s.undated() {
		return
	}
	for k := range s.view.Pending {
		p := &s.view.Pending[k]
		i := p.Item
		if !s.waitsHere(p) || s.now < p.After || s.later(p.Entry) || s.view.Paused || s.view.item(i).Disabled || s.busy(i) || b.taken[i] || b.blocked(i) != "" {
			continue
		}
		e := p.Entry
		e.Begun = s.now
		if b.fits(e, nil) {
			b.m.Unpend = append(b.m.Unpend, i)
			b.add(e)
		}
	}
}
