package sandbox

import (
	"slices"
	"time"
)

const (
	// overtakeTime is how long others may get memory before a claim that does not
	// fit. Each time that room was kept in vain, they may for twice as long.
	overtakeTime    = time.Second
	maxOvertakeTime = 64 * time.Second
	// reserveTime is how long room is kept for a claim. What guests hold that go on
	// for hours does not come back, and others must not stand still as long.
	reserveTime = 2 * time.Second
)

// claim is a wait for memory. Done receives nil, or why there is none.
type claim struct {
	job            string
	hasMemory      bool // its run has something already
	onlyGuest      bool // its run is the only guest of its job
	need           uint64
	since          time.Time
	onlyGuestSince time.Time // since when it is first, if it is: as such it has not been passed before
	reserved       bool      // room was
	turn           int       // the how-manieth claim of its job it is, counted from the first that waits
	done           chan error
}

// overdue reports whether the claim has waited so long that room is kept for it
// when that is possible.
func (c *claim) overdue(now time.Time) bool { return now.Sub(c.waitsSince()) >= overtakeTime }

// waitsSince is since when the claim waits as what it is.
func (c *claim) waitsSince() time.Time {
	if c.onlyGuest {
		return c.onlyGuestSince
	}
	return c.since
}

// claimQueue are claims that wait, in the order in which they get memory: one of
// each job, the oldest first, then the second of each job, and so on. A job with
// many runs thus does not keep another job waiting behind all of them.
type claimQueue struct {
	claims []*claim
	last   map[string]int // by job, the turn of its newest claim

	forOnlyGuests, forFurtherGuests reservation
}

// reservation knows when room is kept for claims of first guests, or of further ones.
type reservation struct {
	notBefore time.Time // before this no room is kept
	failures  int       // how often it was kept in vain since a claim that was overdue got some
}

func (t *claimQueue) reservationFor(first bool) *reservation {
	if first {
		return &t.forOnlyGuests
	}
	return &t.forFurtherGuests
}

// add puts a claim in its place.
func (t *claimQueue) add(c *claim) {
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

// removeAt takes out the claim at a place.
func (t *claimQueue) removeAt(at int) *claim {
	c := t.claims[at]
	t.claims = slices.Delete(t.claims, at, at+1)
	return c
}

// removeClaim takes out a claim if it is there.
func (t *claimQueue) removeClaim(c *claim) {
	if at := slices.Index(t.claims, c); at >= 0 {
		t.removeAt(at)
	}
}

// reserved tells whether room is kept for the claims that are overdue, and when that
// ends or, if it is not, would end next; the zero time if there is no claim. What
// was in vain is remembered when its claim has given up: the next one of the same
// job must not have everybody wait again.
func (t *claimQueue) reserved(first bool, now time.Time) (kept bool, until time.Time) {
	var oldest time.Time
	for _, c := range t.claims {
		if c.onlyGuest == first && (oldest.IsZero() || c.waitsSince().Before(oldest)) {
			oldest = c.waitsSince()
		}
	}
	if oldest.IsZero() {
		return false, oldest
	}
	k := t.reservationFor(first)
	for {
		from := oldest.Add(overtakeTime)
		if k.notBefore.After(from) {
			from = k.notBefore
		}
		if until = from.Add(reserveTime); now.Before(until) {
			return !now.Before(from), until
		}
		k.failures++
		k.notBefore = until.Add(min(overtakeTime<<min(k.failures, 6), maxOvertakeTime))
	}
}

// nextFitting finds the next claim for which there is room, or -1. A claim for which
// room is kept is passed by nobody, that of a further guest by first ones only.
// Closed says that nobody of a class may have any now.
func (t *claimQueue) nextFitting(room func(first bool) uint64, closed func(first bool) bool, now time.Time) int {
	reservedForOnly, _ := t.reserved(true, now)
	reservedForFurther, _ := t.reserved(false, now)
	closedForOnly, closedForFurther := closed(true), closed(false)
	for at, c := range t.claims {
		isReserved, isClosed := reservedForFurther, closedForFurther
		if c.onlyGuest {
			isReserved, isClosed = reservedForOnly, closedForOnly
		}
		switch {
		case isClosed:
		case c.need <= room(c.onlyGuest):
			if c.reserved {
				*t.reservationFor(c.onlyGuest) = reservation{}
			}
			return at
		case isReserved && c.overdue(now):
			c.reserved = true
			closedForOnly, closedForFurther = closedForOnly || c.onlyGuest, true
		}
		if closedForOnly {
			return -1 // for nobody
		}
	}
	return -1
}

// closedFor reports whether room is kept for a claim, so that no newcomer may pass.
func (t *claimQueue) closedFor(first bool, now time.Time) bool {
	return t.reservesFor(true, now) || !first && t.reservesFor(false, now)
}

// reservesFor reports whether room is kept for a claim of a class.
func (t *claimQueue) reservesFor(first bool, now time.Time) bool {
	kept, _ := t.reserved(first, now)
	return kept && slices.ContainsFunc(t.claims, func(c *claim) bool { return c.onlyGuest == first && c.overdue(now) })
}
