package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
type budget struct {
	most  uint64
	evict func() // closes what rests in the pools

	mu      sync.Mutex // guards what follows
	used    uint64
	busy    int
	growing []*claim // of runs that have something
	coming  []*claim // of runs that have nothing
}

// claim is a wait for memory. Done gets nil, or why there will be none.
type claim struct {
	need uint64
	done chan error
}

// crew are the parts of a run that go on at the same time.
type crew struct {
	left  int
	alone bool // the run waits for them and does not count as busy
}

// defaultBudget is for a machine that does not tell what it has.
const defaultBudget = 1 << 30

func budgetOf(asked int64) uint64 {
	if asked > 0 {
		return uint64(asked)
	}
	if all := machineMemory(); all > 0 {
		return all / 2
	}
	return defaultBudget
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
	c := b.queue(r, need)
	// From now on nothing comes to rest; what did before nobody else may end.
	b.evict()
	select {
	case err := <-c.done:
		if errors.Is(err, errStuck) && b.try(r, need) {
			return nil
		}
		return b.taken(r, err)
	case <-ctx.Done():
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

// try takes memory if there is some and nobody asked before.
func (b *budget) try(r *run, need uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.growing) > 0 || !r.busy && len(b.coming) > 0 || need > b.most-b.used {
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
	c := &claim{need: need, done: make(chan error, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.busy {
		b.busy--
		b.growing = append(b.growing, c)
	} else {
		b.coming = append(b.coming, c)
	}
	b.serve()
	return c
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
	is := func(other *claim) bool { return other == c }
	b.growing, b.coming = slices.DeleteFunc(b.growing, is), slices.DeleteFunc(b.coming, is)
	if r.busy {
		b.busy++
	}
	b.serve() // whoever stood behind may fit
	return nil, false
}

// serve gives memory to those who wait, in order, and refuses the last of
// them if nobody is left who could give something back. b.mu is held.
func (b *budget) serve() {
	for len(b.growing) > 0 {
		next, err := 0, error(nil)
		switch {
		case b.growing[0].need <= b.most-b.used:
			b.used += b.growing[0].need
		case b.busy > 0:
			return
		default:
			next, err = len(b.growing)-1, errStuck
		}
		c := b.growing[next]
		b.growing = slices.Delete(b.growing, next, next+1)
		b.busy++
		c.done <- err
	}
	for len(b.coming) > 0 && b.coming[0].need <= b.most-b.used {
		c := b.coming[0]
		b.coming = slices.Delete(b.coming, 0, 1)
		b.used += c.need
		b.busy++
		c.done <- nil
	}
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
	return len(b.growing)+len(b.coming) > 0
}

// begin makes a run busy that found an instance at rest.
func (b *budget) begin(r *run) {
	if r.busy {
		return
	}
	r.busy = true
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy++
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
