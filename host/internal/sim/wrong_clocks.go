package sim

import (
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Only some worlds have clocks that differ by more than members tolerate. Their members
// learn the registry's time.

// clocks is the state of the clocks of a world.
type clocks struct {
	shown   bool // members learn the registry's time as soon as they look
	shift   int64
	set     int64           // when a clock was set last
	begun   map[int]int64   // by item, when an instant began last
	resumed map[runKey]bool // runs that began after a clock had been set back
}

// tolerated is the difference of clocks in ms that a job tolerates here.
const tolerated = 5_000

// registryTime is the time of the registry's clock.
func (w *World) registryTime() int64 { return w.now/millisecond + w.clocks.shift }

// showTime begins a world whose clocks may be wrong.
func (w *World) showTime() {
	w.clocks.shown, w.clocks.begun, w.clocks.resumed = true, map[int]int64{}, map[runKey]bool{}
	w.noSilence()
}

// lookTime is the time after which a member notices that its clock was set, if nothing
// else happens.
const lookTime = 10 * second

// setClock sets the clock of one member.
func (w *World) setClock(m *member, offset int64) {
	w.tracef("%s: its clock is set to %+d ms", m.name(), offset)
	m.offset, m.set, w.clocks.set = offset, w.now, w.now
	m.retick()
}

// setClocks sets the clocks of all members and of the registry together, so that they
// agree with each other and are shift ms ahead of the simulation's time.
func (w *World) setClocks(shift int64) {
	w.tracef("all clocks are set to %+d ms", shift)
	w.clocks.shift, w.clocks.set = shift, w.now
	for _, m := range w.members {
		m.retick()
	}
}

// retick lets the member's schedule go on from the time that its clock shows now. An
// instant that came before does not come again.
func (m *member) retick() {
	if m.period > 0 && m.st != nil {
		m.ticker++
		m.nextTick(max(m.prev, m.w.now/millisecond-m.w.now/millisecond%m.period-m.period))
		m.later(lookTime, func() { m.step(protocol.Elapsed{}) })
	}
}

// learnTime passes to the core by how much the member's clock is ahead of the
// registry's, in worlds where it learns that at once.
func (m *member) learnTime() {
	if (m.w.clocks.shown || m.w.missets) && m.st != nil && m.skew != m.offset {
		m.skew = m.offset
		m.advance(protocol.Measured{Skew: m.skew})
	}
}

// dated checks that no item is accounted for far ahead of the registry's clock.
func (l *ledger) dated(old *protocol.View, by origin) {
	c := &l.w.clocks
	if !c.shown || l.w.now-c.set < second {
		return
	}
	for i := range l.v.Assignment.Last {
		if t := last(l.v.Assignment.Last, i); t > lastOf(old, i) && t > l.w.registryTime()+tolerated {
			l.w.breach("dates", "%s accounts for item %d up to %d ms ahead of the registry's clock", by, i, t-l.w.registryTime())
		}
	}
}

// timely checks that no instant begins far ahead of the registry's clock.
func (l *ledger) timely(e protocol.Entry, by origin) {
	c := &l.w.clocks
	if !c.shown {
		return
	}
	c.begun[e.Item] = l.w.now
	if e.Trigger == "" && e.Attempt == 1 && e.Instant > l.w.registryTime()+tolerated && l.w.now-c.set >= second {
		l.w.breach("ahead", "%s begins instant %d of item %d, %d ms ahead of the registry's clock", by, sinceStart(e.Instant), e.Item, e.Instant-l.w.registryTime())
	}
}

// resumes reports whether the entry may begin though it is older than what its item is
// accounted for: the item is accounted for far ahead of the registry's clock, since a
// clock was wrong. It notes that for the check of the end.
func (l *ledger) resumes(e protocol.Entry, old *protocol.View) bool {
	c := &l.w.clocks
	if !c.shown || lastOf(old, e.Item) <= l.w.registryTime()+tolerated {
		return false
	}
	c.resumed[keyOf(e)] = true
	return true
}

// noSilence checks every second that each item whose owner's clock is right has begun an
// instant recently.
func (w *World) noSilence() {
	w.after(second, func() {
		if w.noTicks || w.broken() {
			return
		}
		defer w.noSilence()
		v := w.ledger.v
		if v == nil || v.Config == nil || w.ledger.paused() {
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
