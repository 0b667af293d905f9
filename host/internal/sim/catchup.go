package sim

import (
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Jobs that catch up on instants that were missed while no member was there. In other
// profiles some member is nearly always there.

// catchUp is a job that sometimes has no members.
func catchUp() profile {
	return profile{
		name: "catch-up", catchUp: true, members: [2]int64{1, 4}, items: [2]int64{1, 6}, timeout: [2]int64{500, 3000}, period: [2]int64{1, 5},
		trouble: [2]int64{30, 70}, every: [2]int64{1000, 9000}, restart: 4000,
		slow: []float64{0, 0.02, 0.1}, slowJobs: []float64{0, 0.05, 0.3}, long: [2]int64{300, 5000}, late: 0.3,
		untimely: 0.1, monitor: 0.7, holds: 0.05, skew: 1000, deaths: 0.02, injects: 0.05, slots: []int{0, 1, 3},
		races:  0.05,
		wait:   [2]int64{300, 4000},
		faults: faults{crash: 1, freeze: 0.5, cut: 1, stall: 1, clock: 0.3, operator: 1.5, ask: 1},
	}
}

// nextBlackout ends all servers at once, again and again. Most come back when their
// sessions are over.
func (w *World) nextBlackout() {
	w.after(w.between(4*second, 20*second), func() {
		if w.calm {
			return
		}
		w.tracef("everything ends")
		away := w.between(0, 20*second)
		for _, m := range w.up() {
			m.crash()
			life := m.life
			w.after(away+w.between(0, 2*second), func() {
				if !m.up && m.life == life {
					m.start()
				}
			})
		}
		w.nextBlackout()
	})
}

// recall answers the core, which asks for the newest instants within gaps of the
// schedule. An instant is a multiple of the period.
func (m *member) recall(r protocol.Recall) {
	var all []int64
	for _, g := range r.Gaps {
		if p := period(g.Cron); p > 0 {
			for t := (g.After/p + 1) * p; t < g.Until; t += p {
				all = append(all, t)
			}
		}
	}
	all = all[max(0, len(all)-r.Most):]
	m.later(m.w.between(1, 5*millisecond), func() { m.step(protocol.Recalled{Instants: all}) })
}

// attendance is the end of a time without members, in ms.
type attendance struct {
	until int64
	said  int64 // the same as the first new member wrote it when it joined; 0: it did not know
	by    protocol.ID
}

// attended records the end of each time without members, and what the first new member
// says of it. A member that saw others which may have begun something must not say that
// nobody was there.
func (l *ledger) attended(old *protocol.View, by origin) {
	if len(l.v.Members)+len(l.v.Instances) == 0 {
		return
	}
	j, joins := by.m.(protocol.Join)
	if joins {
		l.found[j.ID] = attending(by.view)
	}
	l.claimed = max(l.claimed, j.Unattended)
	l.claims(by)
	if joins && j.Unattended != 0 && (len(l.found[j.ID]) > 0 || shared(by.view)) {
		l.w.breach("nobody there", "%s says that nobody was there, seeing %d members", by, len(by.view.Members))
	}
	switch n := len(l.unattended); {
	case !joins:
	case len(old.Members)+len(old.Instances) == 0:
		l.unattended = append(l.unattended, attendance{l.w.registryTime(), j.Unattended, j.ID})
	case j.Unattended != 0 && n > 0: // items of the first member count from its own join
		l.unattended = append(l.unattended, attendance{l.w.registryTime(), l.unattended[n-1].said, j.ID})
	}
}

// attending returns the members that may have begun anything. A member that the assignment
// does not name has joined since, unless its server is disabled; then it may have been
// there before.
func attending(v *protocol.View) []protocol.Member {
	return slices.DeleteFunc(slices.Clone(v.Members), func(m protocol.Member) bool {
		return !slices.Contains(v.Assignment.Members, m.ID) && !v.ServerDisabled(m.ID)
	})
}

// claims checks a record that puts the end of such a time later than before: its member
// must have seen all earlier members go.
func (l *ledger) claims(by origin) {
	r := recordOf(l.v, by.self)
	if by.member == nil || r == nil || r.Unattended <= l.claimed {
		return
	}
	l.claimed = r.Unattended
	l.unattended = append(l.unattended, attendance{until: r.Unattended, by: by.self})
	for _, m := range l.found[by.self] {
		if l.lives(m.Owner) { // sessions are compared because ids recur
			l.w.breach("nobody there", "%s says that nobody was there, and %s is", by, m.ID)
		}
	}
}

// caughtUp checks that an instant that begins late came before the first server was back,
// or before that server followed the schedule. Until it does, it knows no instants; that
// may take long if its copy of the tree stalls after the join.
func (l *ledger) caughtUp(e protocol.Entry, by origin) {
	if e.Cause != protocol.CaughtUp {
		return
	}
	nobody := func(a attendance) bool {
		return e.Instant <= a.until+l.early(by) || a.by == by.self && caughtUpHere(e, by)
	}
	if !slices.ContainsFunc(l.unattended, nobody) {
		l.w.breach("nothing is caught up in vain", "%s: item %d begins %s late, and somebody was there", by, e.Item, runName(e))
	}
}

// caughtUpHere reports whether an entry catches up an instant from before its member
// followed the schedule, which may have changed while no member was there.
func caughtUpHere(e protocol.Entry, by origin) bool {
	return e.Cause == protocol.CaughtUp && e.Instant <= by.member.first
}

// leftOut checks that the newest instant missed without members is not left out.
// Exceptions: the job, the item or the server was not to run, or a foreign member that may
// have run it is there or leads. A damaged leader's node counts as foreign.
func (l *ledger) leftOut(r protocol.Row, by origin) {
	n, p := len(l.unattended), period(r.Cron)
	if n == 0 || p == 0 || banned(by.view, by.self) || r.State != protocol.Missed || r.Why.Code == reason.JobPaused || r.Why.Code == reason.ItemDisabled || shared(by.view) || theyLead(by.view) || l.w.options.CatchUp == 0 {
		return
	}
	if m, ok := by.m.(protocol.Begin); ok && slices.ContainsFunc(m.Own.Open, func(e protocol.Entry) bool { return e.Item == r.Item && e.Cause == protocol.CaughtUp }) {
		return // a newer instant begins
	}
	a := l.unattended[n-1]
	// the newest instant that certainly came without members
	t := (min(a.until, a.said) - l.early(by)) / p * p
	if a.said == 0 || t <= r.After || t >= r.Until || r.After < l.first[r.Item] || l.ambiguous(t) {
		return
	}
	if changed := slices.ContainsFunc(l.crons, func(c int64) bool { return c > t-20_000 }); !changed { // else it may go by the new cron
		l.w.breach("caught up", "%s leaves out %d of item %d, the newest that came until nobody was there any more: %s", by, sinceStart(t), r.Item, r.Why)
	}
}
