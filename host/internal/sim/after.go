package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// Jobs that run after one or two other jobs. Each of the others is a world of its own, with
// servers, faults and a tree. The worlds share the time. Members of the job read the others
// as views of their true trees, each late and in order.

// before is a job after which the world's job runs.
type before struct {
	*World
	end     int64
	changed int64                               // when its number of items changed last, in ms
	counts  bool                                // its members count how instants end
	ends    map[int64]map[int]protocol.RowState // by instant and item: the final row
	good    map[int64]int64                     // by instant: when all its items had succeeded
	unsure  map[int64]bool                      // instants with rows from before members counted, or with a recent change of the items
}

// precedence is what a member knows of the jobs after which its job runs.
type precedence struct {
	next  [2]int64 // arrival of the newest view of each
	views []*protocol.View
	good  []int64 // instants at which all had ended well, if shown to the core
	shown bool
}

// followOthers makes the job run after one or two others, and creates those. The job has
// no cron of its own: the instants of the others are its instants.
func (w *World) followOthers() {
	w.config.Cron = v21.ManualCron
	w.define()
	for k := range 1 + w.extra.IntN(2) {
		seed, part := uint64(w.extra.Int64N(1<<62)), fmt.Sprintf("@%d", k+1)
		p := w.profile
		b := &before{World: newWorld(seed, w.extra.aside(seed, part), p, w.trace), ends: map[int64]map[int]protocol.RowState{}, good: map[int64]int64{}, unsure: map[int64]bool{}}
		b.label = fmt.Sprintf("job before %d: ", k+1)
		w.jobsBefore = append(w.jobsBefore, b)
		b.driver.change = func(old, now *protocol.View) {
			b.count(old, now)
			for _, m := range w.members {
				m.showBefore(k, now)
			}
		}
		b.ledger.ending = b.closed
		b.setup()
		b.populate()
		b.disturb()
		b.end = b.plan()
	}
	if len(w.jobsBefore) == 2 { // otherwise they have few instants in common
		for _, b := range w.jobsBefore {
			b.config.Cron, b.sameCron = w.jobsBefore[0].config.Cron, true
			b.define()
		}
	}
}

// follows reports whether the job runs after others.
func (w *World) follows() bool { return len(w.jobsBefore) > 0 }

// playBefore plays the jobs before this one up to a time.
func (w *World) playBefore(t int64) {
	for _, b := range w.jobsBefore {
		for len(b.queue) > 0 && b.queue[0].at <= min(t, b.end) && !b.broken() {
			e := b.queue.pop()
			b.now = e.at
			e.do()
		}
		if b.broken() && !w.broken() {
			w.breach(b.breaches[0].Invariant, "%s%s", b.label, b.breaches[0].Text)
		}
	}
}

// settledBefore checks the end of the jobs before this one.
func (w *World) settledBefore() {
	for _, b := range w.jobsBefore {
		if b.ledger.settled(); b.broken() && !w.broken() {
			w.breach(b.breaches[0].Invariant, "%s%s", b.label, b.breaches[0].Text)
		}
	}
}

// showBefore delivers a view of job k before its own to the member, after a delay and in
// order. A session that is over by then drops the view: readBefore shows its successor
// the newest.
func (m *member) showBefore(k int, v *protocol.View) {
	if !m.up || m.s == nil {
		return
	}
	x, p := m.w.extra, &m.precedence
	d := x.between(300, 10*millisecond)
	if !m.w.calm && x.chance(0.01) {
		d = x.between(50*millisecond, 5*second)
	}
	p.next[k] = max(p.next[k]+1, m.w.jobsBefore[k].now+d)
	life, epoch := m.life, m.s.epoch
	m.w.at(p.next[k], func() {
		m.guard(life, func() {
			if m.st != nil && m.s.epoch == epoch {
				m.seeBefore(k, v)
			}
		})
	})
}

// readBefore has the member read the jobs before its own again, when a session begins or
// the connection is back.
func (m *member) readBefore() {
	for k, b := range m.w.jobsBefore {
		if v := b.ledger.v; v != nil {
			m.showBefore(k, v)
		}
	}
}

// seeBefore passes to the core the instants at which all jobs before have ended well,
// once it has a view of each. If the members of such a job do not count how instants
// end, it makes them.
func (m *member) seeBefore(k int, v *protocol.View) {
	if m.precedence.views[k] = v; !v.Fires.Followed && v.Config != nil && v.Assignment.Exists {
		b := m.w.jobsBefore[k]
		b.at(m.w.now+m.w.extra.between(300, 5*millisecond), func() {
			if !b.ledger.v.Fires.Followed {
				b.apply(nil, b.job.Encode(protocol.Follow{}, v), origin{what: "a job that follows has them count"})
			}
		})
	}
	if slices.Contains(m.precedence.views, nil) {
		return
	}
	if now := protocol.GoodIn(m.precedence.views); !m.precedence.shown || !slices.Equal(now, m.precedence.good) {
		m.precedence.good, m.precedence.shown = now, true
		m.step(protocol.Preceded{Instants: now})
	}
}

// count records when the number of items changed, and whether members count.
func (b *before) count(old, now *protocol.View) {
	b.counts = now.Fires.Followed
	items := func(v *protocol.View) [2]int {
		if v.Config == nil {
			return [2]int{0, v.Assignment.Total}
		}
		return [2]int{v.Config.Total, v.Assignment.Total}
	}
	// A change is under way while the assignment has another total than the
	// configuration.
	if n := items(now); items(old) != n || n[0] != n[1] {
		b.changed = b.now / millisecond
	}
}

// closed notes the final row of a scheduled run. The instant is unsure if the members
// did not count then, or if the number of items changed so shortly before that clocks
// may differ on it.
func (b *before) closed(r protocol.Row) {
	if r.Trigger != "" {
		return
	}
	t, c := r.Instant, b.ledger.v.Config
	if b.ends[t] == nil {
		b.ends[t] = map[int]protocol.RowState{}
	}
	b.ends[t][r.Item] = r.State
	if !b.counts || c == nil || b.changed+b.profile.skew+2000 >= t {
		b.unsure[t] = true
	}
	well := 0
	for _, s := range b.ends[t] {
		if s == protocol.Succeeded {
			well++
		}
	}
	if c != nil && well >= c.Total && b.good[t] == 0 {
		b.good[t] = b.now
	}
}

// newer returns the number of later instants for which a run has ended.
func (b *before) newer(t int64) int {
	n := 0
	for at := range b.ends {
		if at > t {
			n++
		}
	}
	return n
}

// goodBefore reports since when all items of all jobs before have ended well at the instant
// (0: they have not), and whether that is certain.
func (w *World) goodBefore(t int64) (since int64, sure bool) {
	sure = true
	for _, b := range w.jobsBefore {
		if b.unsure[t] {
			sure = false
		}
		if b.good[t] == 0 {
			return 0, sure
		}
		since = max(since, b.good[t])
	}
	return since, sure
}

// followed checks that a run after others is due: all of them have ended well, and no
// earlier instant is left out.
func (l *ledger) followed(e protocol.Entry, old *protocol.View, by origin) {
	if e.Cause != protocol.After {
		return
	}
	since, sure := l.w.goodBefore(e.Instant)
	if since == 0 && sure {
		l.w.breach("after", "%s begins item %d for %s, at which not all have ended well", by, e.Item, runName(e))
	}
	if t := l.leftBefore(e.Item, lastOf(old, e.Item), e.Instant); t != 0 && since != 0 {
		if earlier, _ := l.w.goodBefore(t); earlier <= since { // the member knew of it, too
			l.w.breach("after", "%s begins item %d for %s, and leaves out %d", by, e.Item, runName(e), sinceStart(t))
		}
	}
}

// leftBefore returns an instant between from and to at which all jobs before have
// certainly ended well, and which they still remember; 0 if there is none. Instants from
// before the item was assigned, or right after it began to exist, do not count.
func (l *ledger) leftBefore(i int, from, to int64) int64 {
	if i >= len(l.since) || l.first[i] == 0 {
		return 0
	}
	from = max(from, l.first[i], l.since[i]+l.w.profile.skew+2000)
	for _, t := range slices.Sorted(maps.Keys(l.w.jobsBefore[0].good)) {
		if t <= from || t >= to || slices.ContainsFunc(l.w.jobsBefore, func(b *before) bool { return b.newer(t) >= protocol.MaxTallies }) {
			continue
		}
		if since, sure := l.w.goodBefore(t); since != 0 && sure {
			return t
		}
	}
	return 0
}

// ends passes a final row to the job that follows, if any.
func (l *ledger) ends(r protocol.Row, by origin) {
	l.skipped(r, by)
	if l.ending != nil {
		l.ending(r)
	}
}

// skipped checks that an instant of the jobs before is left out only because of an
// operator's setting.
func (l *ledger) skipped(r protocol.Row, by origin) {
	if r.Cause != protocol.After || r.State != protocol.Skipped || by.member == nil {
		return
	}
	v := by.view
	paused := pausedAt(v, by.registryTime()) || cameInPause(v, r.Instant)
	if !paused && (r.Item >= len(v.Items) || !v.Items[r.Item].Disabled) {
		l.w.breach("after", "%s skips item %d at %d, which nothing forbids: %s", by, r.Item, sinceStart(r.Instant), r.Why)
	}
}

// allFollowed checks at the end that the job has begun every instant of the jobs before.
func (l *ledger) allFollowed() {
	if !l.w.follows() {
		return
	}
	for i := range l.v.Config.Total {
		if t := l.leftBefore(i, lastOf(l.v, i), 1<<62); t != 0 {
			l.w.breach("after", "item %d has not begun %d, at which all have ended well, only %d", i, sinceStart(t), sinceStart(lastOf(l.v, i)))
		}
	}
}
