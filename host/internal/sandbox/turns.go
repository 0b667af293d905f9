package sandbox

import (
	"slices"
	"time"
)

// patience is how long others may get memory before a claim that does not fit.
const patience = time.Second

// claim is a wait for memory. Done receives nil, or why there is none.
type claim struct {
	job   string
	need  uint64
	since time.Time
	turn  int // the how-manieth claim of its job it is, counted from the first that waits
	done  chan error
}

// overdue reports whether the claim has waited so long that nobody may get
// memory before it.
func (c *claim) overdue(now time.Time) bool { return now.Sub(c.since) >= patience }

// turns are claims that wait, in the order in which they get memory: one of
// each job, the oldest first, then the second of each job, and so on. A job with
// many runs thus does not keep another job waiting behind all of them.
type turns struct {
	claims []*claim
	last   map[string]int // by job, the turn of its newest claim
}

// add puts a claim in its place.
func (t *turns) add(c *claim) {
	if len(t.claims) == 0 {
		t.last = map[string]int{}
	} else {
		c.turn = t.claims[0].turn
	}
	if last, waits := t.last[c.job]; waits {
		c.turn = max(c.turn, last+1)
	}
	t.last[c.job] = c.turn
	at, _ := slices.BinarySearchFunc(t.claims, c.turn+1, func(c *claim, turn int) int { return c.turn - turn })
	t.claims = slices.Insert(t.claims, at, c)
}

// remove takes out the claim at a place.
func (t *turns) remove(at int) *claim {
	c := t.claims[at]
	t.claims = slices.Delete(t.claims, at, at+1)
	return c
}

// drop takes out a claim if it is there.
func (t *turns) drop(c *claim) {
	if at := slices.Index(t.claims, c); at >= 0 {
		t.remove(at)
	}
}

// fits finds the next claim for which there is room, or -1. A claim that is
// overdue is passed by nobody.
func (t *turns) fits(room uint64, now time.Time) int {
	for at, c := range t.claims {
		switch {
		case c.need <= room:
			return at
		case c.overdue(now):
			return -1
		}
	}
	return -1
}

// closed reports whether a claim is overdue, so that no newcomer may pass.
func (t *turns) closed(now time.Time) bool {
	return slices.ContainsFunc(t.claims, func(c *claim) bool { return c.overdue(now) })
}
