package schedule

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how many entries a worker takes at a time: enough to make taking
// them cheap, few enough that nobody is left with a long rest.
const chunk = 128

// crew is the goroutines that work on a bucket together with the loop.
type crew struct {
	shifts chan *shift // capacity: one place for each of them, so that calling them never waits
	size   int
	wg     sync.WaitGroup
}

// shift is one pass over a list of entries.
type shift struct {
	list []*entry
	work func([]*entry)
	next atomic.Int64
	done sync.WaitGroup
}

func startCrew(workers int) *crew {
	c := &crew{shifts: make(chan *shift, workers), size: workers - 1}
	for range c.size {
		c.wg.Go(func() {
			for s := range c.shifts {
				s.run()
				s.done.Done()
			}
		})
	}
	return c
}

func (c *crew) stop() {
	close(c.shifts)
	c.wg.Wait()
}

// each calls work for all of list, in chunks and in parallel, and waits.
func (c *crew) each(list []*entry, work func([]*entry)) {
	s := &shift{list: list, work: work}
	for range min(c.size, (len(list)-1)/chunk) {
		s.done.Add(1)
		c.shifts <- s
	}
	s.run()
	s.done.Wait()
}

func (s *shift) run() {
	for {
		from := int(s.next.Add(chunk)) - chunk
		if from >= len(s.list) {
			return
		}
		s.work(s.list[from:min(from+chunk, len(s.list))])
	}
}

// fire delivers what is due at now and puts the entries back for their
// following instants. It reports whether there was anything.
func (t *Ticker) fire(ctx context.Context, c *crew, now time.Time) bool {
	due := t.take(now)
	if due == nil {
		return false
	}
	c.each(due.list, func(es []*entry) {
		for _, e := range es {
			e.punctual(now)
		}
	})
	c.each(due.list, func(es []*entry) {
		for _, e := range es {
			e.advance(ctx, now)
		}
		t.mu.Lock()
		for _, e := range es {
			t.queue(e)
		}
		t.mu.Unlock()
	})
	t.keep(due)
	return true
}

// keep saves the memory of a bucket that nobody refers to any more.
func (t *Ticker) keep(b *bucket) {
	clear(b.list)
	t.mu.Lock()
	if t.spare == nil {
		t.spare = &bucket{list: b.list[:0]}
	}
	t.mu.Unlock()
}

// punctual delivers the instant the entry waited for, unless the entry may be
// too far behind (instants lie a second apart or more) or the clock has been
// set back since it was queued.
func (e *entry) punctual(now time.Time) {
	if late := now.Sub(e.at); late >= 0 && late < maxCatchUp*time.Second {
		e.tick(e.at)
	}
}

// tick delivers one instant, unless the entry has been removed.
func (e *entry) tick(at time.Time) bool {
	e.delivering.Lock()
	defer e.delivering.Unlock()
	if e.dead {
		return false
	}
	e.deliver(Tick{At: at, Prev: e.prev})
	e.at, e.prev = at, at
	return true
}

// advance delivers what is still due and moves the entry to its next instant.
func (e *entry) advance(ctx context.Context, now time.Time) {
	at := e.at
	if at.After(now) {
		return
	}
	if !at.Equal(e.prev) {
		// Not delivered yet, so it may be far behind.
		if n, _, last := Count(e.schedule, at, now, maxCatchUp); n == maxCatchUp {
			at, e.prev = last, time.Time{}
		}
		if !e.tick(at) {
			return
		}
	}
	for i := 0; ; i++ {
		next := e.schedule.Next(at)
		if !next.After(at) {
			next = time.Time{} // never, or a schedule that would hold the loop for ever
		}
		late := !next.IsZero() && !next.After(now)
		if !late || i%64 == 63 && ctx.Err() != nil {
			e.delivering.Lock()
			e.at = next
			e.delivering.Unlock()
			return
		}
		if at = next; !e.tick(at) {
			return
		}
	}
}
