package sim

import (
	"math"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Pauses with an end: an operator pauses the job for a while, and nothing is written when
// the time is over.

// disturbMore adds the disturbances that only some worlds have.
func (w *World) disturbMore() {
	if w.extra.chance(0.25) {
		w.nextPause()
	}
	if w.profile.java[1] == 0 && w.extra.chance(0.15) {
		w.followOthers()
	}
	if w.profile.java[1] == 0 && w.ledger.draws.chance(0.2) {
		w.nextAsked()
	}
	if w.switches {
		w.nextSwitch()
	}
	if w.three && len(w.jvms) > 0 && w.config.MaxTimeDiffSeconds >= 0 {
		w.missets, w.profile.skew = true, max(w.profile.skew, spelling.MaxSkew(w.config.MaxTimeDiffSeconds))
		w.nextWrongClock()
	}
}

// lastPause is how long before the last tick the last pause begins.
const lastPause = 16 * second

// nextPause lets the operator pause the job again and again, but not while everything heals.
func (w *World) nextPause() {
	w.after(w.extra.between(second, 9*second), func() {
		switch {
		case w.noTicks:
			return
		case w.orderly && w.now < w.quiet-lastPause, !w.calm:
			w.pause()
		}
		w.nextPause()
	})
}

// pause pauses the job by a tool or through a member. Some pauses end with an instant. Some
// are replaced or ended before their time, and servers die while some last.
func (w *World) pause() {
	v := w.ledger.v
	if v == nil || v.Config == nil || !v.Parents.Assignment {
		return
	}
	w.putPause()
	long := w.ledger.v.Pause.Until*millisecond - w.now
	if w.extra.chance(0.3) {
		w.after(w.extra.between(1, max(long, 2)), w.changePause)
	}
	if w.calm || !w.extra.chance(0.3) {
		return
	}
	w.after(w.extra.between(1, max(long, 2)), func() {
		for _, m := range w.up() {
			if !w.calm && m.up && w.extra.chance(0.5) {
				w.crash(m)
			}
		}
	})
}

// putPause writes a pause of up to eight seconds, by a tool or through a member. Half of
// those that can end near an instant do.
func (w *World) putPause() {
	now := w.registryTime()
	p := protocol.Pause{By: "simulator", Since: now, Until: now + w.extra.between(300, 8000)}
	every := period(w.ledger.v.Config.Cron)
	if every > 0 && every < 10_000 && w.extra.chance(0.5) {
		p.Until = max((p.Until/every+1)*every+w.extra.between(-20, 21), now+1)
	}
	if w.orderly { // each member sees an instant after the last pause, which ends what the pause left
		p.Until = max(now+1, min(p.Until, now+(w.quiet-w.now)/millisecond-every-2*w.profile.skew))
	}
	up := w.up()
	if len(up) > 0 && w.extra.chance(0.4) {
		w.request(up[w.extra.IntN(len(up))], protocol.AskPause{Paused: true, Pause: p})
		return
	}
	w.tool(protocol.SetPaused{Paused: true, Pause: p})
}

// changePause ends the pause or replaces it.
func (w *World) changePause() {
	switch {
	case !w.ledger.v.Paused || w.calm && !w.orderly:
	case w.extra.chance(0.5):
		w.tool(protocol.SetPaused{})
	default:
		w.putPause()
	}
}

// pausedAt reports whether an operator has paused the job at a moment of the registry's
// clock. This is the ledger's rule, independent of the core's.
func pausedAt(v *protocol.View, t int64) bool {
	return v.Paused && (v.Pause.Until == 0 || t < v.Pause.Until)
}

// cameInPause reports whether an instant came during the pause that the view shows.
func cameInPause(v *protocol.View, t int64) bool { return pausedAt(v, t) && t >= v.Pause.Since }

// pausesChange records that a pause begins, replaces another, or ends.
func (l *ledger) pausesChange() {
	now := l.w.registryTime()
	if n := len(l.pauses); n > 0 {
		l.pauses[n-1].until = min(l.pauses[n-1].until, now)
	}
	if !l.v.Paused {
		return
	}
	until := l.v.Pause.Until
	if until == 0 {
		until = math.MaxInt64
	}
	l.pauses = append(l.pauses, span{after: now - 1, until: until})
}

// cameInAPause reports whether an instant came during a pause by the clock of some member.
// Such an instant has no row until the next one begins.
func (l *ledger) cameInAPause(t int64) bool {
	return slices.ContainsFunc(l.pauses, func(s span) bool { return s.after-l.w.profile.skew < t && t-l.w.profile.skew < s.until })
}

// resumesAt records the end of a pause once the last clock has passed it, since nothing is
// written then.
func (l *ledger) resumesAt(p protocol.Pause) {
	if p.Until == 0 {
		return
	}
	for _, d := range []int64{0, l.w.profile.skew} {
		l.w.at((p.Until-l.w.clocks.shift+d)*millisecond, func() {
			if l.v.Pause == p {
				l.said()
			}
		})
	}
}

// blames checks that a gap within a pause that its writer saw has the pause as its reason.
func (l *ledger) blames(r protocol.Row, by origin) {
	p := period(r.Cron)
	if by.member == nil || p == 0 || by.view.Pause.Since == 0 || !namesNoFault(r) {
		return
	}
	m, _ := by.m.(protocol.Begin)
	known := func(e protocol.Entry) bool { return e.Instant == by.member.ticked && by.member.before != 0 }
	if slices.ContainsFunc(m.Own.Open, func(e protocol.Entry) bool { return e.Item == r.Item && !known(e) }) {
		return // the member does not know the instant before the one that begins
	}
	first, last := (r.After/p+1)*p, (r.Until-1)/p*p
	if l.ambiguous(first) || l.ambiguous(last) {
		return // the gap has a row for each schedule, with one reason
	}
	if first <= last && cameInPause(by.view, first) && cameInPause(by.view, last) {
		l.w.breach("the reason of a gap", "%s: item %d missed %d to %d in a pause, and the row does not say so", by, r.Item, sinceStart(first), sinceStart(last))
	}
}
