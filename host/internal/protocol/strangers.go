package protocol

import (
	"fmt"
	"slices"
)

// Members of ElasticJob keep no records. What they did, and what they had open
// when they died, is known only to who was looking.

// stranger is a member of ElasticJob, as it was seen last.
type stranger struct {
	id      ID
	session int64
	open    []Entry // ascending by item: what it marks as running
	gone    int64   // since when its instance is away; 0: it is there
}

// witness is what this member has seen of strangers.
type witness struct {
	strangers []stranger
	// ran is, by item, when a stranger was last seen to begin it or, if it never
	// was, up to where it was accounted for when it became a stranger's; 0: it is
	// none's. What comes due during a run is not part of it.
	ran   []int64
	holes []int64 // by item: up to where instants may not have been run, or were not seen
	ended []int64 // by item: when the mark was there last
	marks []int32 // by item: as Item.Marks was then
	left  []left  // ascending by item
	// pending are the runs of ours that wait for a taker, taken those that a
	// stranger has taken and that have no row of it yet.
	pending []Pending
	taken   []Row
}

// left is a pending run that a stranger wrote, and since when it is seen.
type left struct {
	item     int
	modified int64 // revision that wrote it
	since    int64
}

// grace is how long, in ms, a stranger may be away before it counts as dead:
// when its connection comes back it deletes its instance and makes another.
const grace = 500

// watchStrangers notes what they do.
func (s *State) watchStrangers() {
	v, w := s.view, &s.witness
	if !v.foreign() && len(w.strangers) == 0 && !v.leftByStrangers() {
		s.witness, s.watched = witness{}, true
		return
	}
	for _, in := range v.Instances {
		if v.member(in.ID) {
			continue
		}
		k := slices.IndexFunc(w.strangers, func(t stranger) bool { return t.id == in.ID })
		if k < 0 {
			w.strangers = append(w.strangers, stranger{id: in.ID})
			k = len(w.strangers) - 1
		}
		t := &w.strangers[k]
		t.session, t.gone = in.Owner, 0
		t.open = s.marked(t)
	}
	w.strangers = slices.DeleteFunc(w.strangers, func(t stranger) bool { return v.instance(t.id) == nil && s.resolved(&t) && !v.owns(t.id) })
	for k := range w.strangers {
		t := &w.strangers[k]
		if v.instance(t.id) == nil && t.gone == 0 {
			t.gone = s.now
			// What is still marked was not ended by a death: somebody shut the job
			// down there. Whether it comes to its end will not be seen.
			t.open = slices.DeleteFunc(t.open, func(e Entry) bool {
				goesOn := v.item(e.Item).Running == t.session
				if goesOn && e.Item < len(w.holes) {
					w.holes[e.Item] = at(w.ran, e.Item)
				}
				return goesOn
			})
		}
		// Another one has taken it over, and may have ended it by now.
		t.open = slices.DeleteFunc(t.open, func(e Entry) bool {
			it := v.item(e.Item)
			return t.gone != 0 && (it.Running != t.session && w.runs(it.Running) || t.gone < s.now && e.Item < len(w.marks) && it.Marks != w.marks[e.Item])
		})
	}
	s.seeRuns()
	for k := range w.strangers {
		if w.strangers[k].gone == s.now {
			s.doubtLast(&w.strangers[k])
		}
	}
	s.seeTakes()
	var seen []left
	for _, p := range v.Pending {
		if !p.Foreign {
			continue
		}
		l := left{p.Item, p.Modified, s.now}
		if k := slices.IndexFunc(w.left, func(o left) bool { return o.item == p.Item && o.modified == p.Modified }); k >= 0 {
			l = w.left[k]
		}
		seen = append(seen, l)
	}
	w.left, s.watched = seen, true
}

// doubtLast: a stranger that is asked to end at an instant marks its items, runs
// none of them, and goes. It looks like one whose runs were short.
func (s *State) doubtLast(t *stranger) {
	w := &s.witness
	for i := range s.view.Items {
		open := slices.ContainsFunc(t.open, func(e Entry) bool { return e.Item == i })
		if !open && s.view.Items[i].Owner == t.id && i < len(w.holes) && s.now < at(w.ended, i)+lastRun {
			w.holes[i] = at(w.ran, i)
		}
	}
}

// lastRun is how soon, in ms, after its last mark a stranger goes that may not
// have run what it marked: it takes half a second.
const lastRun = 1_000

func (v *View) leftByStrangers() bool {
	return slices.ContainsFunc(v.Pending, func(p Pending) bool { return p.Foreign })
}

// marked are the runs that a stranger marks. One that is new is of the newest
// instant; what a trigger began looks the same.
func (s *State) marked(t *stranger) []Entry {
	var open []Entry
	for i := range s.view.Items {
		if s.view.Items[i].Running != t.session {
			continue
		}
		k, found := slices.BinarySearchFunc(t.open, i, func(e Entry, i int) int { return e.Item - i })
		if found {
			open = append(open, t.open[k])
			continue
		}
		e := Entry{Item: i, Instant: s.latest.At, Cause: Scheduled, Attempt: 1, Begun: s.now}
		if e.Instant == 0 {
			e.Instant, e.Cause, e.Trigger = s.now, Triggered, fmt.Sprintf("j%d", s.now)
		}
		open = append(open, e)
	}
	return open
}

// seeRuns keeps until when the items of strangers are accounted for.
func (s *State) seeRuns() {
	v, w := s.view, &s.witness
	for i := range v.Items {
		it := &v.Items[i]
		if !w.strange(it.Owner) && !w.strange(v.Assignment.owner(i)) {
			if at(w.ran, i) != 0 {
				w.ran[i] = 0
			}
			continue
		}
		for len(w.marks) <= i {
			w.marks, w.holes = append(w.marks, 0), append(w.holes, 0)
		}
		switch last := v.last(i); {
		case at(w.ran, i) == 0 && s.watched && last > 0:
			if w.ran, w.holes[i] = set(w.ran, i, last), 0; w.runs(it.Running) {
				w.ran[i] = s.now // it began as soon as it was dealt
			}
		case at(w.ran, i) == 0:
			if w.ran, w.holes[i] = set(w.ran, i, s.now), 0; last > 0 {
				w.holes[i] = s.now
			}
		case it.Marks != w.marks[i]:
			switch {
			case s.latest.Prev == 0:
				w.holes[i] = s.now
			case w.ran[i] < s.latest.Prev: // until this instant, which it began
				w.holes[i] = max(w.ran[i], s.latest.At-1)
			}
			w.ran[i] = s.now
		}
		if it.Running != 0 || it.Marks != w.marks[i] {
			w.ended = set(w.ended, i, s.now)
		}
		w.marks[i] = it.Marks
	}
}

// strange: the id is, or was, that of a member of ElasticJob.
func (w *witness) strange(id ID) bool {
	return slices.ContainsFunc(w.strangers, func(t stranger) bool { return t.id == id })
}

// runs tells whether the session is that of a stranger.
func (w *witness) runs(session int64) bool {
	return slices.ContainsFunc(w.strangers, func(t stranger) bool { return t.session == session })
}

// accountFor says up to where the items are accounted for that are dealt. Those
// that strangers had: until they were last seen to begin one; if a death has
// ended that, for what came before. They keep no rows, so there is one for all
// of that, unless each instant was seen to be run. Those that nobody ever had: until the mark was seen, for what comes due
// while the reshard is awaited belongs to them.
func (s *State) accountFor(next *Assignment, own *RunsData) {
	for i := range next.Total {
		last := at(s.witness.ran, i)
		if e := s.witness.lost(i); e != nil && last != 0 {
			last = e.Instant - 1
		}
		if before := at(next.Last, i); last > before && !s.witness.strange(next.owner(i)) {
			if hole := min(at(s.witness.holes, i), last); before > 0 && hole > before {
				own.row(Row{Entry: Entry{Item: i, Instant: hole}, Gap: true, After: before, Until: hole + 1, Cron: s.config().Cron, State: Lost, Why: theirs, By: s.self})
			}
			next.Last = set(next.Last, i, last)
		}
		if at(next.Last, i) == 0 {
			next.Last = set(next.Last, i, max(s.markSince, 1))
		}
	}
}

const theirs = "a member of ElasticJob had the item, and keeps no rows of what it ran"

// lost is what a stranger had open of the item when it went away.
func (w *witness) lost(i int) *Entry {
	for k := range w.strangers {
		for n := range w.strangers[k].open {
			if e := &w.strangers[k].open[n]; w.strangers[k].gone != 0 && e.Item == i {
				return e
			}
		}
	}
	return nil
}

// owns tells whether an item is still said to be the id's.
func (v *View) owns(id ID) bool {
	return slices.Contains(v.Assignment.Owners, id) || slices.ContainsFunc(v.Items, func(it Item) bool { return it.Owner == id })
}

// seeTakes notes which runs of ours strangers have taken over. Who of ours takes,
// drops or overtakes one says so in its record.
func (s *State) seeTakes() {
	v, w := s.view, &s.witness
	for _, p := range w.pending {
		if v.pending(p.Item) != nil || !s.reclaims() || v.told(p.Entry) {
			continue
		}
		r := Row{Entry: p.Entry, State: TakenOver, Why: "a member of ElasticJob took it over, and keeps no rows of what it ran", Ended: s.now, By: p.Dead}
		w.taken = append(w.taken, r)
	}
	w.pending = nil
	if v.foreign() {
		w.pending = slices.DeleteFunc(slices.Clone(v.Pending), func(p Pending) bool { return p.Foreign })
	}
}

// told: the record of one of ours says what became of a run, or of a later one
// of the item.
func (v *View) told(e Entry) bool {
	same := func(o Entry) bool { return o.Item == e.Item && o.Instant == e.Instant && o.Trigger == e.Trigger }
	for k := range v.Runs {
		d := &v.Runs[k]
		if slices.ContainsFunc(d.unfinished(), same) || slices.ContainsFunc(d.Rows, func(r Row) bool { return !r.Gap && same(r.Entry) }) {
			return true
		}
	}
	return v.last(e.Item) > e.Instant
}

// tally gives the runs that strangers have taken over their row.
func tally(s *State, _ *Plan) Mutation {
	if !s.reclaims() || s.doubt != Trusted || len(s.witness.taken) == 0 {
		return nil
	}
	m := Tally{Self: s.self, Own: s.next(s.own())}
	s.witness.taken = slices.DeleteFunc(s.witness.taken, func(r Row) bool { return s.view.told(r.Entry) })
	for _, r := range s.witness.taken {
		m.Own.row(r)
	}
	if len(s.witness.taken) == 0 {
		return nil
	}
	return m
}

// resolved: nothing is left to be done for a stranger that has gone.
func (s *State) resolved(t *stranger) bool {
	return t.gone != 0 && !slices.ContainsFunc(t.open, func(e Entry) bool { return !s.seenTo(e) })
}

// seenTo: somebody takes care of what a stranger had open, or did.
func (s *State) seenTo(e Entry) bool {
	v := s.view
	it, p := v.item(e.Item), v.pending(e.Item)
	return p != nil && !p.Foreign || it.Failover != "" || it.Running != 0 || v.last(e.Item) >= e.Instant
}

// orphan lets a member of ours take over what a member of ElasticJob had open
// when it died. Which instant that was, is not written anywhere; one of ours has
// seen it. What a member of ElasticJob has made pending itself gets its name here.
func orphan(s *State, _ *Plan) Mutation {
	v := s.view
	if !s.reclaims() || s.config() == nil || !v.Assignment.Exists || s.doubt != Trusted {
		return nil
	}
	m := Orphan{Self: s.self, Own: s.next(s.own()), Next: v.Assignment.clone()}
	r, done := s.room(), false
	for k := range s.witness.strangers {
		t := &s.witness.strangers[k]
		if t.gone == 0 || s.resolved(t) {
			continue
		}
		if s.now < t.gone+grace {
			s.hold(t.gone + grace)
			continue
		}
		for _, e := range t.open {
			if s.seenTo(e) || v.pending(e.Item) != nil {
				continue
			}
			if !r.take(2) {
				break
			}
			done = true
			m.Next.Last = set(m.Next.Last, e.Item, max(at(m.Next.Last, e.Item), e.Instant))
			if why := s.notAgain(e, t.id); why != "" {
				m.Own.row(Row{Entry: e, State: Lost, Why: why, Ended: s.now, By: t.id})
				continue
			}
			m.Pend = append(m.Pend, Pending{Item: e.Item, Entry: e, Dead: t.id})
		}
	}
	for k := range v.Pending {
		p := &v.Pending[k]
		if it := v.item(p.Item); !p.Foreign || !v.foreign() || it.Failover != "" || it.Running != 0 || !s.ripe(p) || s.idle(p) || !v.Config.Failover {
			continue
		}
		if !r.take(2) {
			break
		}
		run := s.known(p)
		done = true
		m.Next.Last = set(m.Next.Last, p.Item, max(at(m.Next.Last, p.Item), run.Entry.Instant))
		m.Pend = append(m.Pend, run)
	}
	if !done {
		return nil
	}
	for k := range v.Runs {
		if id := v.Runs[k].ID; id != s.self {
			m.Check = append(m.Check, id)
		}
	}
	slices.SortFunc(m.Pend, func(a, b Pending) int { return a.Item - b.Item })
	return m
}

// ripe tells whether a pending run that a stranger wrote may be taken here: none
// of them has taken it.
func (s *State) ripe(p *Pending) bool {
	k := slices.IndexFunc(s.witness.left, func(l left) bool { return l.item == p.Item })
	if k < 0 {
		return false
	}
	until := s.witness.left[k].since + grace
	if s.now < until {
		s.hold(until)
	}
	return s.now >= until
}

// idle: a pending run that a stranger wrote is of an item that was not running.
// ElasticJob writes that of all items of who has gone.
func (s *State) idle(p *Pending) bool {
	w := &s.witness
	seen := at(w.holes, p.Item) < s.latest.At && at(w.ran, p.Item) >= s.latest.At
	return s.evidence(p.Item) == nil && s.latest.At > 0 && (seen || s.view.last(p.Item) >= s.latest.At)
}

// evidence is what a stranger had open of the item when it went away, if nobody
// has accounted for that.
func (s *State) evidence(i int) *Entry {
	if e := s.witness.lost(i); e != nil && s.view.last(i) < e.Instant {
		return e
	}
	return nil
}

// known is a pending run that a stranger wrote, as far as it can be known: what
// its owner had open when it went away, else of the newest instant.
func (s *State) known(p *Pending) Pending {
	if e := s.evidence(p.Item); e != nil {
		return Pending{Item: p.Item, Entry: *e}
	}
	e := Entry{Item: p.Item, Instant: max(s.latest.At, s.view.last(p.Item)), Cause: Failover, Attempt: 1}
	if e.Instant == 0 {
		e = s.unnamed(p)
	}
	return Pending{Item: p.Item, Entry: e}
}

// early: a stranger whose clock is ahead of ours began the instant before it came
// here.
func (w *witness) early(t Tick) {
	if t.Prev == 0 {
		return
	}
	from := t.At - min(aheadAtMost, (t.At-t.Prev)/2)
	for k := range w.strangers {
		for n := range w.strangers[k].open {
			if e := &w.strangers[k].open[n]; e.Trigger == "" && e.Begun >= from && e.Instant < t.At {
				e.Instant = t.At
			}
		}
	}
	for i, ran := range w.ran {
		if ran >= from && ran < t.At && w.marks[i] != 0 {
			w.ran[i] = t.At
		}
	}
}

// aheadAtMost is by how many ms a stranger's clock may be ahead of ours.
const aheadAtMost = 1_000
