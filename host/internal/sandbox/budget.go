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

// errStuck refuses memory for which everybody would wait for ever.
var errStuck = errors.New("every guest waits for memory that another one has, and the last quarter is for jobs without a guest; raise the budget of the host, or run fewer at once")

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
	most  uint64
	evict func() // closes what rests in the pools

	mu      sync.Mutex // guards what follows
	used    uint64
	busy    int
	guests  map[string]int // by job, the runs that have something, and their parts
	growing turns          // of runs that have something
	coming  turns          // of runs that have nothing
}

// crew are the parts of a run that go on at the same time.
type crew struct {
	job   string
	left  int
	alone bool // the run waits for them and does not count as busy
}

// bears is an error if there will never be so much for one guest.
func (b *budget) bears(need uint64) error {
	if need > b.most {
		return fmt.Errorf("the guest needs %d bytes of memory, all guests together may have %d", need, b.most)
	}
	return nil
}

// take sets memory aside for a run, which becomes busy with its first. It
// waits for it until the deadline.
func (b *budget) take(r *run, need uint64) error {
	if err := b.bears(need); err != nil {
		return err
	}
	if b.try(r, need) {
		return nil
	}
	b.evict()
	if b.try(r, need) {
		return nil
	}
	ctx := r.ctx
	if !r.soft.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.soft)
		defer cancel()
	}
	defer r.away()()
	c := b.queue(r, need)
	// From now on nothing comes to rest; what did before nobody else may end.
	b.evict()
	reopen := time.NewTimer(b.reopens())
	defer reopen.Stop()
	for waits := true; waits; {
		select {
		case err := <-c.done:
			if errors.Is(err, errStuck) && b.try(r, need) {
				return nil
			}
			return b.taken(r, err)
		case <-reopen.C:
			b.give(0) // nothing, but others may fit who had to wait
			reopen.Reset(b.reopens())
		case <-ctx.Done():
			waits = false
		}
	}
	if err, decided := b.giveUp(r, c); decided {
		return b.taken(r, err)
	}
	return fmt.Errorf("wait for %d bytes of memory, as all guests together may have %d: %w", need, b.most, ctx.Err())
}

// taken notes the end of a wait.
func (b *budget) taken(r *run, err error) error {
	r.busy = r.busy || err == nil
	return err
}

// try takes memory if there is some and nobody who waits is overdue.
func (b *budget) try(r *run, need uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, first := time.Now(), b.first(r.job, r.busy)
	if need > b.room(first) || b.growing.closed(first, now) || !r.busy && b.coming.closed(first, now) {
		return false
	}
	b.used += need
	if !r.busy {
		r.busy = true
		b.busy++
		b.count(r.job, 1)
	}
	return true
}

// first reports whether a run that asks is the only guest of its job. b.mu is held.
func (b *budget) first(job string, has bool) bool {
	others := b.guests[job]
	if has {
		others--
	}
	return others == 0
}

// room is what is free for the first guest of a job, or for a further one.
// b.mu is held.
func (b *budget) room(first bool) uint64 {
	free := b.most - b.used
	if first {
		return free
	}
	return free - min(free, b.most/4)
}

// count notes that a job has more guests, or fewer. b.mu is held.
func (b *budget) count(job string, more int) {
	if b.guests == nil {
		b.guests = map[string]int{}
	}
	if b.guests[job] += more; b.guests[job] == 0 {
		delete(b.guests, job)
	}
}

func (b *budget) queue(r *run, need uint64) *claim {
	c := &claim{job: r.job, has: r.busy, need: need, since: time.Now(), done: make(chan error, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.busy {
		b.busy--
		b.growing.add(c)
	} else {
		b.coming.add(c)
	}
	b.serve()
	return c
}

// reopens is how long it is until claims may be served that had to wait only
// because room was kept for others.
func (b *budget) reopens() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	least := maxPatience
	for _, t := range []*turns{&b.growing, &b.coming} {
		for _, first := range []bool{true, false} {
			if _, until := t.kept(first, now); !until.IsZero() {
				least = min(least, until.Sub(now))
			}
		}
	}
	return least
}

// giveUp ends a wait, unless it was decided in the same moment.
func (b *budget) giveUp(r *run, c *claim) (err error, decided bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-c.done:
		return err, true
	default:
	}
	b.growing.drop(c)
	b.coming.drop(c)
	if r.busy {
		b.busy++
	}
	b.serve() // a claim that the room was kept from may fit
	return nil, false
}

// serve gives memory to those who wait, as far as there is room. b.mu is held.
func (b *budget) serve() {
	now := time.Now()
	b.serveTurns(&b.growing, now)
	if b.busy == 0 && len(b.growing.claims) > 0 {
		b.unlock()
	}
	b.serveTurns(&b.coming, now)
}

func (b *budget) serveTurns(t *turns, now time.Time) {
	for at := b.next(t, now); at >= 0; at = b.next(t, now) {
		b.grant(t.remove(at))
	}
}

// next finds the claim that is served next, or -1. Which of them are the first
// of their jobs changes with each grant.
func (b *budget) next(t *turns, now time.Time) int {
	for _, waiting := range []*turns{&b.growing, &b.coming} {
		for _, c := range waiting.claims {
			first := b.first(c.job, c.has)
			if first && !c.first {
				c.rank = now
			}
			c.first = first
		}
	}
	return t.fits(b.room, func(first bool) bool { return t == &b.coming && b.growing.closed(first, now) }, now)
}

// grant has a claim go on with what it asked for. b.mu is held.
func (b *budget) grant(c *claim) {
	b.used += c.need
	b.busy++
	if !c.has {
		b.count(c.job, 1)
	}
	c.done <- nil
}

// unlock has one of the growing go on when nobody is left who could give
// memory back: one that fits, although an overdue claim is before it, or else
// the last, which is refused. b.mu is held.
func (b *budget) unlock() {
	for at, c := range b.growing.claims {
		if c.need <= b.room(b.first(c.job, true)) {
			b.grant(b.growing.remove(at))
			return
		}
	}
	b.busy++
	b.growing.remove(len(b.growing.claims) - 1).done <- errStuck
}

// give returns what an instance had.
func (b *budget) give(had uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= had
	b.serve()
}

// wanted tells whether somebody waits, so that nothing should rest in a pool.
func (b *budget) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.growing.claims)+len(b.coming.claims) > 0
}

// leave says that a run has ended and given back what it had.
func (b *budget) leave(r *run) {
	if !r.busy {
		return
	}
	r.busy = false
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
	b.count(r.job, -1)
	b.serve()
}

// send makes n parts of a busy run busy, too.
func (b *budget) send(c *crew, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.left = n
	b.busy += n
	b.count(c.job, n)
}

// back says that a part has ended. The last one leaves its place to the run.
func (b *budget) back(c *crew) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.left--
	b.count(c.job, -1)
	if c.left == 0 && c.alone {
		c.alone = false
		return
	}
	b.busy--
	b.serve()
}

// await says that a run does nothing but wait for its parts.
func (b *budget) await(c *crew) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.left > 0 {
		c.alone = true
		b.busy--
		b.serve()
	}
}
