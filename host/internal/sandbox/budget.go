package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// instanceCost is what an instance takes beside its memory and its tables:
// what the engine keeps of it, and a stack that has not grown.
const instanceCost = 32 << 10

// errDeadlock refuses memory for which everybody would wait for ever.
var errDeadlock = errors.New("every guest waits for memory that another one has, and the last quarter is for jobs without a guest; raise the budget of the host, or run fewer at once")

// budget bounds the memory of all instances together. What counts is what they
// have, not what their limits would allow: most guests use a small part of
// their limit, and a host that counted limits would run a tenth of what it
// could. The price is that a guest may have to wait as it grows, and that
// guests may come to wait for each other; then the last to ask is refused.
//
// A run is busy from the moment it has an instance until it has ended, save
// while it waits for memory or for parts of itself, which are busy in its
// place. Who is busy goes before who has nothing yet, so that runs can end.
//
// A claim that does not fit is passed by those that do, for a second. Then the
// room is kept for it: nobody behind it gets any until it has some. Otherwise a
// large claim would wait for ever beside small ones that come and go. If that was
// in vain for two seconds, others may pass again, each time for longer: what
// guests hold that never end must not stop everybody.
//
// A quarter is kept for the first guest of each job: further guests of a job get
// none of it, nor is room kept from a first guest for them. Guests that never end
// and are all of one job thus leave another job something to run with.
type budget struct {
	limit uint64
	evict func() // closes what rests in the pools

	mu       sync.Mutex // guards what follows
	used     uint64
	active   int
	guests   map[string]int // by job, the runs that have something, and their parts
	growing  claimQueue     // of runs that have something
	starting claimQueue     // of runs that have nothing
}

// subtasks are the parts of a run that go on at the same time.
type subtasks struct {
	job     string
	running int
	waiting bool // the run waits for them and does not count as busy
}

// checkNeed is an error if there will never be so much for one guest.
func (b *budget) checkNeed(need uint64) error {
	if need > b.limit {
		return fmt.Errorf("the guest needs %d bytes of memory, all guests together may have %d", need, b.limit)
	}
	return nil
}

// takeMemory sets memory aside for a run, which becomes busy with its first. It
// waits for it until the deadline.
func (b *budget) takeMemory(r *run, need uint64) error {
	if err := b.checkNeed(need); err != nil {
		return err
	}
	if b.tryTakeMemory(r, need) {
		return nil
	}
	b.evict()
	if b.tryTakeMemory(r, need) {
		return nil
	}
	ctx := r.ctx
	if !r.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.deadline)
		defer cancel()
	}
	defer r.releaseWorker()()
	c := b.addClaim(r, need)
	// From now on nothing comes to rest; what did before nobody else may end.
	b.evict()
	reopen := time.NewTimer(b.untilReservationChange())
	defer reopen.Stop()
	for waits := true; waits; {
		select {
		case err := <-c.done:
			if errors.Is(err, errDeadlock) && b.tryTakeMemory(r, need) {
				return nil
			}
			return b.endWait(r, err)
		case <-reopen.C:
			b.returnMemory(0) // nothing, but others may fit who had to wait
			reopen.Reset(b.untilReservationChange())
		case <-ctx.Done():
			waits = false
		}
	}
	if err, decided := b.cancelClaim(r, c); decided {
		return b.endWait(r, err)
	}
	return fmt.Errorf("wait for %d bytes of memory, as all guests together may have %d: %w", need, b.limit, ctx.Err())
}

// endWait notes the end of a wait.
func (b *budget) endWait(r *run, err error) error {
	r.busy = r.busy || err == nil
	return err
}

// tryTakeMemory takes memory if there is some and nobody who waits is overdue.
func (b *budget) tryTakeMemory(r *run, need uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, first := time.Now(), b.isOnlyGuest(r.job, r.busy)
	if need > b.freeFor(first) || b.growing.closedFor(first, now) || !r.busy && b.starting.closedFor(first, now) {
		return false
	}
	b.used += need
	if !r.busy {
		r.busy = true
		b.active++
		b.countGuests(r.job, 1)
	}
	return true
}

// isOnlyGuest reports whether a run that asks is the only guest of its job. b.mu is held.
func (b *budget) isOnlyGuest(job string, has bool) bool {
	others := b.guests[job]
	if has {
		others--
	}
	return others == 0
}

// freeFor is what is free for the first guest of a job, or for a further one.
// b.mu is held.
func (b *budget) freeFor(first bool) uint64 {
	free := b.limit - b.used
	if first {
		return free
	}
	return free - min(free, b.limit/4)
}

// countGuests notes that a job has more guests, or fewer. b.mu is held.
func (b *budget) countGuests(job string, more int) {
	if b.guests == nil {
		b.guests = map[string]int{}
	}
	if b.guests[job] += more; b.guests[job] == 0 {
		delete(b.guests, job)
	}
}

func (b *budget) addClaim(r *run, need uint64) *claim {
	c := &claim{job: r.job, hasMemory: r.busy, need: need, since: time.Now(), done: make(chan error, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.busy {
		b.active--
		b.growing.add(c)
	} else {
		b.starting.add(c)
	}
	b.serveClaims()
	return c
}

// untilReservationChange is how long it is until claims may be served that had to wait only
// because room was kept for others.
func (b *budget) untilReservationChange() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	least := maxOvertakeTime
	for _, t := range []*claimQueue{&b.growing, &b.starting} {
		for _, first := range []bool{true, false} {
			if _, until := t.reserved(first, now); !until.IsZero() {
				least = min(least, until.Sub(now))
			}
		}
	}
	return least
}

// cancelClaim ends a wait, unless it was decided in the same moment.
func (b *budget) cancelClaim(r *run, c *claim) (err error, decided bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-c.done:
		return err, true
	default:
	}
	b.growing.removeClaim(c)
	b.starting.removeClaim(c)
	if r.busy {
		b.active++
	}
	b.serveClaims() // a claim that the room was kept from may fit
	return nil, false
}

// serveClaims gives memory to those who wait, as far as there is room. b.mu is held.
func (b *budget) serveClaims() {
	now := time.Now()
	b.serveQueue(&b.growing, now)
	if b.active == 0 && len(b.growing.claims) > 0 {
		b.breakDeadlock()
	}
	b.serveQueue(&b.starting, now)
}

func (b *budget) serveQueue(t *claimQueue, now time.Time) {
	for at := b.nextClaim(t, now); at >= 0; at = b.nextClaim(t, now) {
		b.grantClaim(t.removeAt(at))
	}
}

// nextClaim finds the claim that is served next, or -1. Which of them are the first
// of their jobs changes with each grant.
func (b *budget) nextClaim(t *claimQueue, now time.Time) int {
	for _, waiting := range []*claimQueue{&b.growing, &b.starting} {
		for _, c := range waiting.claims {
			first := b.isOnlyGuest(c.job, c.hasMemory)
			if first && !c.onlyGuest {
				c.onlyGuestSince = now
			}
			c.onlyGuest = first
		}
	}
	return t.nextFitting(b.freeFor, func(first bool) bool { return t == &b.starting && b.growing.closedFor(first, now) }, now)
}

// grantClaim has a claim go on with what it asked for. b.mu is held.
func (b *budget) grantClaim(c *claim) {
	b.used += c.need
	b.active++
	if !c.hasMemory {
		b.countGuests(c.job, 1)
	}
	c.done <- nil
}

// breakDeadlock has one of the growing go on when nobody is left who could give
// memory back: one that fits, although an overdue claim is before it, or else
// the last, which is refused. b.mu is held.
func (b *budget) breakDeadlock() {
	for at, c := range b.growing.claims {
		if c.need <= b.freeFor(b.isOnlyGuest(c.job, true)) {
			b.grantClaim(b.growing.removeAt(at))
			return
		}
	}
	b.active++
	b.growing.removeAt(len(b.growing.claims) - 1).done <- errDeadlock
}

// returnMemory returns what an instance had.
func (b *budget) returnMemory(had uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= had
	b.serveClaims()
}

// hasClaims tells whether somebody waits, so that nothing should rest in a pool.
func (b *budget) hasClaims() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.growing.claims)+len(b.starting.claims) > 0
}

// endRun says that a run has ended and given back what it had.
func (b *budget) endRun(r *run) {
	if !r.busy {
		return
	}
	r.busy = false
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	b.countGuests(r.job, -1)
	b.serveClaims()
}

// startSubtasks makes n parts of a busy run busy, too.
func (b *budget) startSubtasks(c *subtasks, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.running = n
	b.active += n
	b.countGuests(c.job, n)
}

// endSubtask says that a part has ended. The last one leaves its place to the run.
func (b *budget) endSubtask(c *subtasks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.running--
	b.countGuests(c.job, -1)
	if c.running == 0 && c.waiting {
		c.waiting = false
		return
	}
	b.active--
	b.serveClaims()
}

// awaitSubtasks says that a run does nothing but wait for its parts.
func (b *budget) awaitSubtasks(c *subtasks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.running > 0 {
		c.waiting = true
		b.active--
		b.serveClaims()
	}
}
