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
var errStuck = errors.New("every guest waits for memory that another one has; raise the budget of the host, or run fewer at once")

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
type budget struct {
	most  uint64
	evict func() // closes what rests in the pools

	mu      sync.Mutex // guards what follows
	used    uint64
	busy    int
	growing turns // of runs that have something
	coming  turns // of runs that have nothing
}

// crew are the parts of a run that go on at the same time.
type crew struct {
	left  int
	alone bool // the run waits for them and does not count as busy
}

// take sets memory aside for a run, which becomes busy with its first. It
// waits for it until the deadline.
func (b *budget) take(r *run, need uint64) error {
	if need > b.most {
		return fmt.Errorf("the guest needs %d bytes of memory, all guests together may have %d", need, b.most)
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
	now := time.Now()
	if need > b.most-b.used || b.growing.closed(now) || !r.busy && b.coming.closed(now) {
		return false
	}
	b.used += need
	if !r.busy {
		r.busy = true
		b.busy++
	}
	return true
}

func (b *budget) queue(r *run, need uint64) *claim {
	c := &claim{job: r.job, need: need, since: time.Now(), done: make(chan error, 1)}
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
		if _, until := t.kept(now); !until.IsZero() {
			least = min(least, until.Sub(now))
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
	for at := b.growing.fits(b.most-b.used, now); at >= 0; at = b.growing.fits(b.most-b.used, now) {
		b.grant(b.growing.remove(at))
	}
	if b.busy == 0 && len(b.growing.claims) > 0 {
		b.unlock()
	}
	if b.growing.closed(now) {
		return
	}
	for at := b.coming.fits(b.most-b.used, now); at >= 0; at = b.coming.fits(b.most-b.used, now) {
		b.grant(b.coming.remove(at))
	}
}

// grant has a claim go on with what it asked for. b.mu is held.
func (b *budget) grant(c *claim) {
	b.used += c.need
	b.busy++
	c.done <- nil
}

// unlock has one of the growing go on when nobody is left who could give
// memory back: one that fits, although an overdue claim is before it, or else
// the last, which is refused. b.mu is held.
func (b *budget) unlock() {
	for at, c := range b.growing.claims {
		if c.need <= b.most-b.used {
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
	b.serve()
}

// send makes n parts of a busy run busy, too.
func (b *budget) send(c *crew, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.left = n
	b.busy += n
}

// back says that a part has ended. The last one leaves its place to the run.
func (b *budget) back(c *crew) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.left--
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
