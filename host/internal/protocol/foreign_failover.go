package protocol

// Foreign members may take items that they will not run. An item with such a mark is
// blocked, so a member of ours removes the mark.

// seeFailover notes since when failover is off.
func (s *State) seeFailover() {
	w := &s.evidence
	switch c := s.config(); {
	case c == nil || c.Failover:
		w.noFailover = 0
	case w.noFailover == 0:
		w.noFailover = s.now
	}
}

// abandonedMarks are items that foreign members have taken and will not run. ElasticJob
// ignores these marks while failover is off. Its members delete them when it is switched
// off, but one that was in the queue at that moment makes another; it stays as long as
// the session, and the item's owner may not begin it.
func (s *facts) abandonedMarks() []int {
	w := &s.evidence
	if !s.company.reclaims || w.noFailover == 0 {
		return nil
	}
	var items []int
	for i := range s.view.Items {
		if it := &s.view.Items[i]; it.Failover != "" && it.Running == 0 && w.isSession(it.TakerSession) {
			items = append(items, i)
		}
	}
	if until := w.noFailover + grace; len(items) > 0 && s.now < until {
		s.hold(until) // a member that took one before may be about to run it
		return nil
	}
	return items
}
