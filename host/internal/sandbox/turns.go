package sandbox

import (
	"slices"
	"time"
)

const (
	// patience is how long others may get memory before a claim that does not
	// fit. Each time that room was kept in vain, they may for twice as long.
	patience    = time.Second
	maxPatience = 64 * time.Second
	// keeping is how long room is kept for a claim. What guests hold that go on
	// for hours does not come back, and others must not stand still as long.
	keeping = 2 * time.Second
)

// claim is a wait for memory. Done receives nil, or why there is none.
type claim struct {
	job   string
	has   bool // its run has something already
	first bool // its run is the only guest of its job
	need  uint64
	since time.Time
	rank  time.Time // since when it is first, if it is: as such it has not been passed before
	kept  bool      // room was
	turn  int       // the how-manieth claim of its job it is, counted from the first that waits
	done  chan error
}

// overdue reports whether the claim has waited so long that room is kept for it
// when that is possible.
func (c *claim) overdue(now time.Time) bool { return now.Sub(c.waits()) >= patience }

// waits is since when the claim waits as what it is.
func (c *claim) waits() time.Time {
	if c.first {
		return c.rank
	}
	return c.since
}

// turns are claims that wait, in the order in which they get memory: one of
// each job, the oldest first, then the second of each job, and so on. A job with
// many runs thus does not keep another job waiting behind all of them.
type turns struct {
	claims []*claim
	last   map[string]int // by job, the turn of its newest claim

	ofFirst, ofFurther keeper
}

// keeper knows when room is kept for claims of first guests, or of further ones.
type keeper struct {
	open time.Time // before this no room is kept
	vain int       // how often it was kept in vain since a claim that was overdue got some
}

func (t *turns) keeper(first bool) *keeper {
	if first {
		return &t.ofFirst
	}
	return &t.ofFurther
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

// kept tells whether room is kept for the claims that are overdue, and when that
// ends or, if it is not, would end next; the zero time if there is no claim. What
// was in vain is remembered when its claim has given up: the next one of the same
// job must not have everybody wait again.
func (t *turns) kept(first bool, now time.Time) (kept bool, until time.Time) {
	var oldest time.Time
	for _, c := range t.claims {
		if c.first == first && (oldest.IsZero() || c.waits().Before(oldest)) {
			oldest = c.waits()
		}
	}
	if oldest.IsZero() {
		return false, oldest
	}
	k := t.keeper(first)
	for {
		from := oldest.Add(patience)
		if k.open.After(from) {
			from = k.open
		}
		if until = from.Add(keeping); now.Before(until) {
			return !now.Before(from), until
		}
		k.vain++
		k.open = until.Add(min(patience<<min(k.vain, 6), maxPatience))
	}
}

// fits finds the next claim for which there is room, or -1. A claim for which
// room is kept is passed by nobody, that of a further guest by first ones only.
// Closed says that nobody of a class may have any now.
func (t *turns) fits(room func(first bool) uint64, closed func(first bool) bool, now time.Time) int {
	keptFirst, _ := t.kept(true, now)
	keptFurther, _ := t.kept(false, now)
	shutFirst, shutFurther := closed(true), closed(false)
	for at, c := range t.claims {
		kept, shut := keptFurther, shutFurther
		if c.first {
			kept, shut = keptFirst, shutFirst
		}
		switch {
		case shut:
		case c.need <= room(c.first):
			if c.kept {
				*t.keeper(c.first) = keeper{}
			}
			return at
		case kept && c.overdue(now):
			c.kept = true
			shutFirst, shutFurther = shutFirst || c.first, true
		}
		if shutFirst {
			return -1 // for nobody
		}
	}
	return -1
}

// closed reports whether room is kept for a claim, so that no newcomer may pass.
func (t *turns) closed(first bool, now time.Time) bool {
	return t.keeps(true, now) || !first && t.keeps(false, now)
}

// keeps reports whether room is kept for a claim of a class.
func (t *turns) keeps(first bool, now time.Time) bool {
	kept, _ := t.kept(first, now)
	return kept && slices.ContainsFunc(t.claims, func(c *claim) bool { return c.first == first && c.overdue(now) })
}
