package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// exact checks that each item began the instant exactly once, ours and foreign ones. It
// checks nothing if something disturbed the cluster from shortly before the instant on.
func (l *ledger) exact(at int64) {
	v := l.v
	if v == nil || v.Config == nil || l.w.noTicks || l.paused() || v.Necessary || v.Processing || len(v.Pending) > 0 || !v.Config.MonitorExecution {
		return
	}
	p := period(v.Config.Cron)
	since := (at - p - 500) * millisecond // a period and a half second earlier
	if at%p != 0 || l.unrest > since || l.wordAt > since || slices.ContainsFunc(v.Servers, func(s protocol.Server) bool { return s.Disabled }) || slices.Contains(disabled(v), true) {
		return
	}
	for _, in := range v.Instances {
		if !l.w.well(in.ID) {
			return
		}
	}
	if slices.ContainsFunc(l.w.jvms, func(j *jvm) bool { return j.up && j.period != p }) {
		return // a member that is still registering misses a change of the cron
	}
	for i := range v.Config.Total {
		if i >= len(v.Items) || registered(v, v.Items[i].Owner) == nil {
			return // a foreign leader has not noticed a death in time
		}
	}
	l.checkedInstants++
	for i := range v.Config.Total {
		if n := l.began[at][i]; n != 1 {
			l.w.breach("exactly once", "item %d was begun %d times for %d, an instant in which all was well", i, n, sinceStart(at))
			return
		}
	}
}

// checkInstants calls exact for each instant from now on.
func (w *World) checkInstants() {
	at := (w.now/second + 1) * second
	w.at(at, func() {
		w.after(1500*millisecond, func() { w.ledger.exact(at / millisecond) })
		w.checkInstants()
	})
}

// well reports whether the process of an instance works normally.
func (w *World) well(id protocol.ID) bool {
	for _, j := range w.jvms {
		if j.id() == id {
			return j.up && !j.frozen && !j.leaving && !j.shut && !j.paused && (j.since == 0 || j.w.now-j.since < second)
		}
	}
	m := w.member(id)
	return m != nil && !m.frozen && !m.leaving && m.loop.Doubt() == protocol.Trusted && m.s.connected
}

// member returns the member of ours that has the id; nil if there is none.
func (w *World) member(id protocol.ID) *member {
	for _, m := range w.members {
		if m.up && m.st != nil && m.st.Self() == id {
			return m
		}
	}
	return nil
}
