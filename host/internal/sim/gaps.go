package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// force records the schedule that is in force from now on, and the items that exist.
func (l *ledger) force() {
	if c := l.v.Config; c != nil && (len(l.forced) == 0 || l.forced[len(l.forced)-1].Cron != c.Cron) {
		l.forced = append(l.forced, protocol.Schedule{Since: l.w.now / millisecond, Cron: c.Cron})
	}
	for i := len(l.since); l.v.Config != nil && i < l.v.Config.Total; i++ {
		l.since = append(l.since, l.w.now/millisecond)
	}
	if l.v.Config != nil && l.v.ConfigFault == "" {
		l.since = l.since[:l.v.Config.Total]
	}
}

// early is by how many ms the recorded time of a change may be too early. The member's
// clock may have been behind when it recorded that, and have been set ahead since, so it
// counts twice then.
func (l *ledger) early(by origin) int64 {
	if by.member != nil && by.member.set != 0 {
		return 2*l.w.mostOff() + 1
	}
	return l.w.mostOff() + 1
}

// existed checks that no item is accounted for from before it existed.
func (l *ledger) existed(old *protocol.View, by origin) {
	for i := old.Assignment.Total; i < min(l.v.Assignment.Total, len(l.since)); i++ {
		if t := last(l.v.Assignment.Last, i); t+l.early(by) < l.since[i] && !l.foreignIDs[ownerOf(l.v, i)] {
			l.w.breach("items that exist", "%s: item %d is to be accounted for from %d on, and exists since %d", by, i, sinceStart(t), sinceStart(l.since[i]))
		}
	}
}

// remembered is the number of schedules that members remember.
const remembered = 4

// namesNoFault reports whether the row names no more of a reason than that the item had no
// owner.
func namesNoFault(r protocol.Row) bool {
	return r.Why.Code == reason.NotBegun || r.Why.Code == reason.NotBegunOwnerGone
}

// counts checks that a gap is of a schedule that was in force, claims no instant from
// before that, and names the loss of a session as its reason where that was the reason.
func (l *ledger) counts(r protocol.Row, by origin) {
	if m := by.member; m != nil && m.lost && r.State == protocol.Missed && r.By == by.self && r.After+l.early(by) < m.since/millisecond && namesNoFault(r) {
		l.w.breach("the reason of a gap", "%s had lost its session, and does not say so of item %d after %d", by, r.Item, sinceStart(r.After))
	}
	p := period(r.Cron)
	k := slices.IndexFunc(l.forced, func(s protocol.Schedule) bool { return s.Cron == r.Cron })
	if k < 0 || p == 0 {
		l.w.breach("the schedule of a gap", "%s: item %d has a gap of %q, by which the job never went", by, r.Item, r.Cron)
		return
	}
	changes := 0
	for _, s := range l.forced {
		if s.Since > r.After {
			changes++
		}
	}
	if changes >= remembered {
		return // members do not remember older schedules
	}
	if t := (r.After/p + 1) * p; k > 0 && t < r.Until && t+l.early(by) < l.forced[k].Since {
		l.w.breach("the schedule of a gap", "%s: item %d is said to have missed %d of %q, by which the job went from %d on", by, r.Item, sinceStart(t), r.Cron, sinceStart(l.forced[k].Since))
	}
}

// unseen reports whether the newest instant of the item came before its owner did and is
// not accounted for.
func (l *ledger) unseen(i int) bool {
	v := l.v
	m := l.w.known(ownerOf(v, i))
	if m == nil || len(l.w.jvms) > 0 || i >= len(v.Items) || v.Items[i].Disabled || l.paused() {
		return false
	}
	return lastOf(v, i) < m.unseen && m.unseen <= m.now()
}

// leaveUnseen expects no row for instants from before the member's life if a foreign
// member is there, or seems to lead because the leader's node is damaged: it may have
// run them. The next run that begins accounts for them.
func (m *member) leaveUnseen() {
	if m.st != nil && m.st.View() != nil && (shared(m.st.View()) || theyLead(m.st.View())) {
		m.unseen = 0
	}
}
