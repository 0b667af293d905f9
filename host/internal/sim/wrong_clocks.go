package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Clocks that are wrong by more than members may differ. Only some worlds have
// them: there the registry tells its time.

// clocks is what the clocks of a world show beside its own time.
type clocks struct {
	told    bool // members learn the registry's time, as soon as they look
	shift   int64
	set     int64           // when one was set last
	begun   map[int]int64   // by item, when an instant of it began last
	resumed map[runKey]bool // began after a clock had been set back
}

// tolerated is by how many ms clocks may differ here.
const tolerated = 5_000

// registryTime is what the registry's clock shows.
func (w *World) registryTime() int64 { return w.now/millisecond + w.clocks.shift }

// tellTime begins a world of clocks that may be wrong.
func (w *World) tellTime() {
	w.clocks.told, w.clocks.begun, w.clocks.resumed = true, map[int]int64{}, map[runKey]bool{}
	w.noSilence()
}

// lookTime is after how long a member notices that its clock was set, if nothing
// else happens.
const lookTime = 10 * second

// setClock sets the clock of one member.
func (w *World) setClock(m *member, offset int64) {
	w.tracef("%s: its clock is set to %+d ms", m.name(), offset)
	m.offset, m.set, w.clocks.set = offset, w.now, w.now
	m.retick()
}

// setClocks sets those of all members and the registry's.
func (w *World) setClocks(shift int64) {
	w.tracef("all clocks are set to %+d ms", shift)
	w.clocks.shift, w.clocks.set = shift, w.now
	for _, m := range w.members {
		m.retick()
	}
}

// retick goes on with the schedule where it is: an instant that was told is not told
// again before somebody asks for that.
func (m *member) retick() {
	if m.period > 0 && m.st != nil {
		m.ticker++
		m.nextTick(max(m.prev, m.w.now/millisecond-m.w.now/millisecond%m.period-m.period))
		m.later(lookTime, func() { m.step(protocol.Elapsed{}) })
	}
}

// learnTime tells the core by how much its clock is ahead of the registry's.
func (m *member) learnTime() {
	if m.w.clocks.told && m.st != nil && m.skew != m.offset {
		m.skew = m.offset
		m.advance(protocol.Measured{Skew: m.skew})
	}
}

// dated: no instant begins, and nothing is accounted for, far ahead of the registry's
// clock, as the author knew it.
func (l *ledger) dated(old *protocol.View, by author) {
	c := &l.w.clocks
	if !c.told || l.w.now-c.set < second {
		return
	}
	for i := range l.v.Assignment.Last {
		if t := last(l.v.Assignment.Last, i); t > lastOf(old, i) && t > l.w.registryTime()+tolerated {
			l.w.breach("dates", "%s accounts for item %d up to %d ms ahead of the registry's clock", by, i, t-l.w.registryTime())
		}
	}
}

// timely is dated for an instant that begins.
func (l *ledger) timely(e protocol.Entry, by author) {
	c := &l.w.clocks
	if !c.told {
		return
	}
	c.begun[e.Item] = l.w.now
	if e.Trigger == "" && e.Attempt == 1 && e.Instant > l.w.registryTime()+tolerated && l.w.now-c.set >= second {
		l.w.breach("ahead", "%s begins instant %d of item %d, %d ms ahead of the registry's clock", by, e.Instant-1_700_000_000_000, e.Item, e.Instant-l.w.registryTime())
	}
}

// resumes: the last instant of the item lies far ahead, so that this one may begin
// all the same, once.
func (l *ledger) resumes(e protocol.Entry, old *protocol.View) bool {
	c := &l.w.clocks
	if !c.told || lastOf(old, e.Item) <= l.w.registryTime()+tolerated {
		return false
	}
	c.resumed[keyOf(e)] = true
	return true
}

// noSilence looks every second whether each item of an owner whose clock is right
// has begun an instant not long ago.
func (w *World) noSilence() {
	w.after(second, func() {
		if w.noTicks || w.broken() {
			return
		}
		defer w.noSilence()
		v := w.ledger.v
		if v == nil || v.Config == nil || v.Paused {
			return
		}
		bound := 3*period(v.Config.Cron)*millisecond + 15*second
		for _, m := range w.members {
			if !m.up || m.frozen || m.st == nil || max(m.offset, -m.offset) > tolerated {
				continue
			}
			for i := range v.Assignment.Owners {
				if since := max(w.clocks.begun[i], w.ledger.unrest, w.clocks.set, m.since); w.ledger.idle(m.st.Self(), i) && w.now-since > bound {
					w.breach("silence", "item %d of %s has begun nothing for %d s", i, m.name(), (w.now-since)/second)
				}
			}
		}
	})
}
