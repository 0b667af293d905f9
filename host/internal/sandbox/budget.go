package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// instanceCost is the memory of an instance besides its linear memory and tables:
// the engine's data, and a stack that has not grown.
const instanceCost = 32 << 10

// errDeadlock refuses memory if all guests would otherwise wait forever.
var errDeadlock = errors.New("all guests wait for memory that other guests hold, and the last quarter is reserved for jobs without a guest; raise the host's memory budget, or run fewer guests at the same time")

// budget limits the memory of all instances together. It counts what instances have,
// not what their limits would allow: most guests use a small part of their limit, so
// counting limits would run a tenth of the possible guests. In return, a guest may
// have to wait when it grows, and guests may wait for each other; then the latest
// claim is refused.
//
// A run is active from the moment it has an instance until it ends, except while it
// waits for memory or for its subtasks, which are active in its place. Active runs
// go before runs that have nothing yet, so that runs can end.
//
// Claims that fit may overtake a claim that does not, for one second. Then memory is
// reserved for that claim: no claim behind it is granted before it. Otherwise a
// large claim would wait forever among small ones. After two seconds without success
// others may overtake again, each time for longer, because guests that never end
// must not block all others.
//
// A quarter is reserved for the first guest of each job: further guests of a job get
// none of it, and no memory is reserved for them that a first guest needs. Endless
// guests of one job therefore leave memory for other jobs.
type budget struct {
	limit uint64
	evict func() // destroys idle instances

	mu       sync.Mutex // guards the fields below
	used     uint64
	active   int
	guests   map[string]int // by job: runs that hold memory, and their subtasks
	growing  claimQueue     // claims of runs that hold memory
	starting claimQueue     // claims of runs that hold none
}

// subtasks are the subtasks of a run that run at the same time.
type subtasks struct {
	job     string
	running int
	waiting bool // the run waits for them and does not count as active
}

// checkNeed refuses a claim that would not fit even if no other guest had memory.
func (b *budget) checkNeed(need uint64) error {
	if need > b.limit {
		return fmt.Errorf("the guest needs %d bytes of memory, all guests together may have %d", need, b.limit)
	}
	return nil
}

// takeMemory takes memory for a run, which becomes active with its first. It waits
// for the memory until the run's deadline.
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
	ctx := r.ctx // ends only at the deadline plus grace
	if !r.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.deadline)
		defer cancel()
	}
	defer r.releaseWorker()()
	c := b.addClaim(r, need)
	// From now on no instance becomes idle. Evict those that did before.
	b.evict()
	reopen := time.NewTimer(b.untilReservationChange())
	defer reopen.Stop()
	for waits := true; waits; {
		select {
		case err := <-c.done:
			if errors.Is(err, errDeadlock) && b.tryTakeMemory(r, need) { // memory may be free since
				return nil
			}
			return b.endWait(r, err)
		case <-reopen.C:
			b.returnMemory(0) // serve claims that had to wait for a reservation
			reopen.Reset(b.untilReservationChange())
		case <-ctx.Done():
			waits = false
		}
	}
	if err, decided := b.cancelClaim(r, c); decided {
		return b.endWait(r, err)
	}
	return fmt.Errorf("wait for %d bytes of memory, of the %d that all guests together may have: %w", need, b.limit, ctx.Err())
}

// endWait returns the decision about a claim of the run. A granted claim makes the run
// active.
func (b *budget) endWait(r *run, err error) error {
	r.active = r.active || err == nil
	return err
}

// tryTakeMemory takes memory if there is enough and none is reserved. A run that holds
// memory already competes with growing claims only, another one with starting claims as
// well.
func (b *budget) tryTakeMemory(r *run, need uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, onlyGuest := time.Now(), b.isOnlyGuest(r.job, r.active)
	if need > b.freeFor(onlyGuest) || b.growing.closedFor(onlyGuest, now) || !r.active && b.starting.closedFor(onlyGuest, now) {
		return false
	}
	b.used += need
	if !r.active {
		r.active = true
		b.active++
		b.countGuests(r.job, 1)
	}
	return true
}

// isOnlyGuest reports whether a claiming run is the only guest of its job. With hasMemory,
// the run itself is counted among the guests. The caller holds b.mu.
func (b *budget) isOnlyGuest(job string, hasMemory bool) bool {
	others := b.guests[job]
	if hasMemory {
		others--
	}
	return others == 0
}

// freeFor returns the free memory for the first guest of a job, or for a further
// one. The caller holds b.mu.
func (b *budget) freeFor(onlyGuest bool) uint64 {
	free := b.limit - b.used
	if onlyGuest {
		return free
	}
	return free - min(free, b.limit/4)
}

// countGuests changes the number of guests of a job. The caller holds b.mu.
func (b *budget) countGuests(job string, more int) {
	if b.guests == nil {
		b.guests = map[string]int{}
	}
	if b.guests[job] += more; b.guests[job] == 0 {
		delete(b.guests, job)
	}
}

// addClaim adds a claim of a run that now waits. A run that holds memory is not active
// while it waits.
func (b *budget) addClaim(r *run, need uint64) *claim {
	c := &claim{job: r.job, hasMemory: r.active, need: need, since: time.Now(), done: make(chan error, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.active {
		b.active--
		b.growing.add(c)
	} else {
		b.starting.add(c)
	}
	b.serveClaims()
	return c
}

// untilReservationChange returns the time until a reservation begins or ends, so
// that other claims may be served.
func (b *budget) untilReservationChange() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	least := maxOvertakeTime
	for _, q := range []*claimQueue{&b.growing, &b.starting} {
		for _, onlyGuest := range []bool{true, false} {
			if _, until := q.reserved(onlyGuest, now); !until.IsZero() {
				least = min(least, until.Sub(now))
			}
		}
	}
	return least
}

// cancelClaim ends a wait, unless the claim was decided at the same moment.
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
	if r.active {
		b.active++
	}
	b.serveClaims() // its reservation is gone, so other claims may fit
	return nil, false
}

// serveClaims grants claims as far as memory allows. The caller holds b.mu.
func (b *budget) serveClaims() {
	now := time.Now()
	b.serveQueue(&b.growing, now)
	if b.active == 0 && len(b.growing.claims) > 0 { // all runs that hold memory wait for more
		b.breakDeadlock()
	}
	b.serveQueue(&b.starting, now)
}

// serveQueue grants the claims of one queue. The caller holds b.mu.
func (b *budget) serveQueue(q *claimQueue, now time.Time) {
	for at := b.nextClaim(q, now); at >= 0; at = b.nextClaim(q, now) {
		b.grantClaim(q.removeAt(at))
	}
}

// nextClaim returns the position in q of the claim to serve next, or -1. It first updates
// which claims come from the only guest of a job, because each grant can change that. While
// memory is reserved for a growing run, no run starts.
func (b *budget) nextClaim(q *claimQueue, now time.Time) int {
	for _, waiting := range []*claimQueue{&b.growing, &b.starting} {
		for _, c := range waiting.claims {
			onlyGuest := b.isOnlyGuest(c.job, c.hasMemory)
			if onlyGuest && !c.onlyGuest {
				c.onlyGuestSince = now
			}
			c.onlyGuest = onlyGuest
		}
	}
	closed := func(onlyGuest bool) bool { return q == &b.starting && b.growing.closedFor(onlyGuest, now) }
	return q.nextFitting(b.freeFor, closed, now)
}

// grantClaim grants a claim. The caller holds b.mu.
func (b *budget) grantClaim(c *claim) {
	b.used += c.need
	b.active++
	if !c.hasMemory {
		b.countGuests(c.job, 1)
	}
	c.done <- nil
}

// breakDeadlock serves a claim when no active run is left that could return memory.
// It grants one that fits, even if an overdue claim is before it, or refuses the
// latest. The caller holds b.mu.
func (b *budget) breakDeadlock() {
	for at, c := range b.growing.claims {
		if c.need <= b.freeFor(b.isOnlyGuest(c.job, true)) {
			b.grantClaim(b.growing.removeAt(at))
			return
		}
	}
	b.active++ // the refused run no longer waits
	b.growing.removeAt(len(b.growing.claims) - 1).done <- errDeadlock
}

// returnMemory returns bytes that were taken, and serves claims that now fit.
func (b *budget) returnMemory(had uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= had
	b.serveClaims()
}

// hasClaims reports whether a run waits for memory. Then no instance should stay
// idle.
func (b *budget) hasClaims() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.growing.claims)+len(b.starting.claims) > 0
}

// endRun records that a run has ended and returned its memory.
func (b *budget) endRun(r *run) {
	if !r.active {
		return
	}
	r.active = false
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	b.countGuests(r.job, -1)
	b.serveClaims()
}

// startSubtasks makes n subtasks of an active run active, too.
func (b *budget) startSubtasks(c *subtasks, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.running = n
	b.active += n
	b.countGuests(c.job, n)
}

// endSubtask records the end of a subtask. The last one passes its place to the run
// if that waits.
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

// awaitSubtasks records that a run only waits for its subtasks. It is not active until the
// last of them has ended.
func (b *budget) awaitSubtasks(c *subtasks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.running > 0 {
		c.waiting = true
		b.active--
		b.serveClaims()
	}
}

// memoryUsed returns the bytes that are taken.
func (b *budget) memoryUsed() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
