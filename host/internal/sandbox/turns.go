package sandbox

import (
	"slices"
	"time"
)

const (
	// overtakeTime is how long other claims may overtake a claim that does not fit.
	// It doubles after each reservation that failed, up to maxOvertakeTime.
	overtakeTime    = time.Second
	maxOvertakeTime = 64 * time.Second
	// reserveTime is how long memory is reserved for a claim. Guests that run for
	// hours do not return memory, and other guests must not wait that long.
	reserveTime = 2 * time.Second
)

// claim is a run that waits for memory. done receives nil, or the reason for a
// refusal.
type claim struct {
	job            string
	hasMemory      bool // its run holds memory already
	onlyGuest      bool // its run is the only guest of its job
	need           uint64
	since          time.Time
	onlyGuestSince time.Time // valid if onlyGuest: when it became that; no claim of its class can have overtaken it earlier
	reserved       bool      // memory was reserved for it
	turn           int       // its place among the claims of its job, counted from that of the first waiting claim
	done           chan error
}

// overdue reports whether the claim has waited so long that memory should be
// reserved for it.
func (c *claim) overdue(now time.Time) bool { return now.Sub(c.waitsSince()) >= overtakeTime }

// waitsSince returns when the claim began to wait in its present class: as an only
// guest or as a further one.
func (c *claim) waitsSince() time.Time {
	if c.onlyGuest {
		return c.onlyGuestSince
	}
	return c.since
}

// claimQueue holds waiting claims in the order in which they get memory: the oldest
// claim of each job first, then the second of each job, and so on. A job with many
// runs does not delay other jobs behind all of them.
type claimQueue struct {
	claims []*claim
	last   map[string]int // by job: turn of its latest claim

	forOnlyGuests, forFurtherGuests reservation
}

// reservation says when memory is reserved for the claims of one class: those of
// only guests, or those of further guests.
type reservation struct {
	notBefore time.Time // no memory is reserved before this time
	failures  int       // failed reservations since the last one that led to a grant
}

// reservationFor returns the reservation of a class.
func (q *claimQueue) reservationFor(onlyGuest bool) *reservation {
	if onlyGuest {
		return &q.forOnlyGuests
	}
	return &q.forFurtherGuests
}

// add inserts a claim at its place.
func (q *claimQueue) add(c *claim) {
	if len(q.claims) == 0 {
		q.last = map[string]int{}
	} else {
		c.turn = q.claims[0].turn // the earliest turn that still waits
	}
	if last, waits := q.last[c.job]; waits { // each claim of a job has a turn after the one before
		c.turn = max(c.turn, last+1)
	}
	q.last[c.job] = c.turn
	// It comes after all claims of the same turn.
	at, _ := slices.BinarySearchFunc(q.claims, c.turn+1, func(c *claim, turn int) int { return c.turn - turn })
	q.claims = slices.Insert(q.claims, at, c)
}

func (q *claimQueue) removeAt(at int) *claim {
	c := q.claims[at]
	q.claims = slices.Delete(q.claims, at, at+1)
	return c
}

// removeClaim removes a claim if it is in this queue.
func (q *claimQueue) removeClaim(c *claim) {
	if at := slices.Index(q.claims, c); at >= 0 {
		q.removeAt(at)
	}
}

// reserved reports whether memory is reserved for overdue claims of a class, and when the
// current or next reservation ends; zero if there is no claim. A reservation fails if it
// ends and the claim still waits. A failed reservation counts after its claim has gone, so
// that the next claim of the same job does not block all others again.
func (q *claimQueue) reserved(onlyGuest bool, now time.Time) (isReserved bool, until time.Time) {
	var oldest time.Time
	for _, c := range q.claims {
		if c.onlyGuest == onlyGuest && (oldest.IsZero() || c.waitsSince().Before(oldest)) {
			oldest = c.waitsSince()
		}
	}
	if oldest.IsZero() {
		return false, oldest
	}
	r := q.reservationFor(onlyGuest)
	for { // from reservation to reservation, until one that has not ended
		from := oldest.Add(overtakeTime)
		if r.notBefore.After(from) {
			from = r.notBefore
		}
		if until = from.Add(reserveTime); now.Before(until) {
			return !now.Before(from), until
		}
		r.failures++ // this one has ended: the next one begins after a longer time
		r.notBefore = until.Add(min(overtakeTime<<min(r.failures, 6), maxOvertakeTime))
	}
}

// nextFitting returns the position of the next claim that fits, or -1. No claim may
// overtake one with a reservation, except that claims of only guests overtake those of
// further guests. room returns the free memory of a class. closed reports whether a class
// may get no memory now, because the other queue has a reservation.
func (q *claimQueue) nextFitting(room func(onlyGuest bool) uint64, closed func(onlyGuest bool) bool, now time.Time) int {
	reservedForOnly, _ := q.reserved(true, now)
	reservedForFurther, _ := q.reserved(false, now)
	closedForOnly, closedForFurther := closed(true), closed(false)
	for at, c := range q.claims {
		isReserved, isClosed := reservedForFurther, closedForFurther
		if c.onlyGuest {
			isReserved, isClosed = reservedForOnly, closedForOnly
		}
		switch {
		case isClosed:
		case c.need <= room(c.onlyGuest):
			if c.reserved { // the reservation has succeeded, so earlier failures no longer count
				*q.reservationFor(c.onlyGuest) = reservation{}
			}
			return at
		case isReserved && c.overdue(now):
			// It does not fit, so what is free is reserved for it: claims behind it are not
			// granted, except those of only guests if it is one of a further guest.
			c.reserved = true
			closedForOnly, closedForFurther = closedForOnly || c.onlyGuest, true
		}
		if closedForOnly {
			return -1 // all classes are closed
		}
	}
	return -1
}

// closedFor reports whether memory is reserved here, so that no new claim of a class may
// overtake. Memory reserved for an only guest closes both classes.
func (q *claimQueue) closedFor(onlyGuest bool, now time.Time) bool {
	return q.reservesFor(true, now) || !onlyGuest && q.reservesFor(false, now)
}

// reservesFor reports whether memory is reserved for an overdue claim of a class.
func (q *claimQueue) reservesFor(onlyGuest bool, now time.Time) bool {
	isReserved, _ := q.reserved(onlyGuest, now)
	return isReserved && slices.ContainsFunc(q.claims, func(c *claim) bool { return c.onlyGuest == onlyGuest && c.overdue(now) })
}
