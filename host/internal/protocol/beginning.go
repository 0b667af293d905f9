package protocol

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/reason"
)

// beginning collects the parts of one Begin.
type beginning struct {
	s       *facts
	m       Begin
	taken   []bool // by item: it begins
	givenUp []int  // ascending: items whose missed instants all have rows
	room    *room  // nil before the first item is tried
	idled   bool   // idle has noted the time without begins
	awaited bool   // a foreign leader waits until nothing runs
	changed bool
}

// newBeginning returns a Begin that opens nothing yet. The parts of begin add to it.
func newBeginning(s *facts) beginning {
	own := s.own()
	return beginning{s: s, taken: make([]bool, s.view.total()), awaited: s.leaderWaits(), m: Begin{Self: s.self, Own: s.next(own), Monitor: s.config() != nil && s.config().MonitorExecution, Shared: !s.company.ours(), Next: s.schedule.next}}
}

// mutation returns the Begin with its lists in order; nil if the parts have added nothing.
func (b *beginning) mutation() *Begin {
	if !b.changed {
		return nil
	}
	slices.Sort(b.m.Begun)
	slices.SortFunc(b.m.Own.Open, func(x, y Entry) int { return x.Item - y.Item })
	if b.m.Shared && len(b.m.DeletePending) > 0 {
		b.m.Check = b.s.others()
	}
	return &b.m
}

// fits reports whether the transaction has room for one more run with its nodes and rows,
// and takes that room.
func (b *beginning) fits(e Entry, rows []Row) bool {
	if b.room == nil {
		b.room = b.s.opening(&b.m.Own)
	}
	w := b.room.weight.begins(e, rows)
	if f := b.s.view.backfill(e.Item); f != nil { // its node is written, should this be a run of it
		w.rest += f.bytes()
	}
	if !b.room.takeWith(b.nodes(e.Item), w) {
		b.s.overfull(b.room, &b.m.Own, w)
		return false
	}
	return true
}

// whyNotFits is why a run does not fit: the record has no room for even one, or else other
// items have taken the room of the transaction.
func (b *beginning) whyNotFits() reason.Code {
	if b.s.recordFull != 0 {
		return reason.RecordFull
	}
	return reason.TooManyDue
}

// nodes is the largest number of nodes that a Begin writes, deletes or checks for the item.
func (b *beginning) nodes(i int) int {
	n := 0
	if b.m.Monitor {
		n++ // the running mark is created
	}
	if b.m.Shared {
		n++ // the owner's node is checked
	}
	if b.s.view.item(i).Misfire {
		n++ // the misfire mark is deleted
	}
	if b.s.view.pending(i) != nil {
		n++ // the pending run is deleted
	}
	if b.s.view.backfill(i) != nil {
		n++ // the backfill loses the instant
	}
	return n
}

// blocked is why the item must not begin now; "" if it may.
func (b *beginning) blocked(i int) reason.Code {
	it := b.s.view.item(i)
	switch {
	case b.s.view.Assignment.departing(i):
		return reason.AboutToMove
	case b.awaited && at(b.s.own().Begun, i) >= b.s.reshard.since: // it has begun once since the leader was asked
		return reason.LeaderAwaitsEnd
	case it.Failover != "": // a member has taken the item over
		return reason.RunningAfterFailure
	case it.Marked(): // also while monitorExecution is off: a mark may be older than that setting
		return reason.MarkedRunning
	case b.s.openElsewhere(i):
		return reason.RunningAfterFailure
	}
	return ""
}

// add opens the run e, for which fits has found room. The run also makes good the misfire
// that the item's mark shows, unless it catches up an older instant than that of the mark.
func (b *beginning) add(e Entry) {
	b.changed, b.taken[e.Item] = true, true
	b.m.Own.Open = append(b.m.Own.Open, e)
	b.m.Own.Begun = set(b.m.Own.Begun, e.Item, e.Begun)
	b.m.Begun = append(b.m.Begun, e.Item)
	if b.s.view.item(e.Item).Misfire && (e.Cause != CaughtUp || e.Instant >= b.s.schedule.latest.At) {
		b.m.Unmark = append(b.m.Unmark, e.Item)
	}
}

// idle notes the time before t in which no item of the job began, once for all items of
// the transaction. If a clock was ahead, the record shows by it which instants were passed
// over: see Idle.
func (b *beginning) idle(t int64) {
	if b.idled {
		return
	}
	b.idled = true
	b.m.Own.idle(Span{b.s.view.newest(), t})
}
