package protocol

import (
	"slices"
)

// ends are the times of the first and the newest end of a run that no commit has written
// yet; 0 if there is none. See complete.
type ends struct{ first, last int64 }

// keep notes the times. complete notes none when it is about to write the ends.
func (e ends) keep(s *State, _ *Plan) { s.guests.ends = e }

// lingersUntil is the time until which ends of runs wait for others, so that one transaction
// writes them; 0 if they do not wait. They do not if no guest runs that could still end, or
// if the clock was set back since the first end.
func (s *State) lingersUntil() int64 {
	until := min(s.guests.ends.last+s.o.Linger, s.guests.ends.first+lingerTimes*s.o.Linger)
	if s.guests.ends.first == 0 || s.now < s.guests.ends.first || s.now >= until {
		return 0
	}
	if !slices.ContainsFunc(s.guests.all, func(g guest) bool { return !g.ended }) {
		return 0
	}
	return until
}

// lingerTimes bounds how many times Linger the first end waits for others.
const lingerTimes = 10

// complete closes the runs whose guests have ended, each with a row. A run that the job's
// policy tries again waits in the record for its next attempt. Left open are runs that
// next-attempt goes on with, and those whose rows do not fit now.
func complete(s *facts) Mutation {
	own := s.own()
	if own == nil || s.lingersUntil() != 0 {
		return nil
	}
	s.note(ends{})
	if !slices.ContainsFunc(s.guests.all, func(g guest) bool { return g.ended }) {
		return nil
	}
	var items []int
	next := s.next(own)
	r, rows := s.ending(&next), s.rowsLeft(&next)
	next.Rows = slices.Grow(next.Rows, min(rows, len(s.guests.all)))
	for k := range s.guests.all {
		g := &s.guests.all[k]
		e := own.entry(g.Item)
		if !g.ended || e == nil || !e.Same(g.Entry) {
			continue
		}
		if s.attemptDue(g, e) {
			continue
		}
		row, again := Row{Entry: *e, State: g.state, Why: g.why, Ended: s.now, By: s.self}, s.retries(g)
		if g.unbegun { // the member was leaving, so no guest ran
			row.Begun = 0
		}
		if again {
			row.State, row.Why = Retried, g.retried()
		}
		w := r.weight.ends(row)
		if again {
			w.rest += e.bytes() + waitBytes + uncountedBytes
		}
		if _, changed := s.streak(&next, &row); changed { // closes adds it
			w.streak()
		}
		if len(items) == rows || !r.takeWith(s.view.item(g.Item).nodesToEnd(), w) {
			break // the others follow in the next transaction
		}
		items = append(items, g.Item)
		s.closes(&next, row)
		if again {
			next.retry(s.State, *e, g.drained)
		} else {
			if s.o.Completed {
				next.Results.add(resultOf(*e, g.state))
			}
		}
		next.Ended = set(next.Ended, g.Item, s.now)
		next.Flow.add(g.flow)
	}
	if len(items) == 0 {
		return nil
	}
	next.Open = slices.DeleteFunc(next.Open, func(e Entry) bool {
		_, ended := slices.BinarySearch(items, e.Item) // ascending, since the guests are
		return ended
	})
	return Complete{Self: s.self, Own: next, Items: items}
}
