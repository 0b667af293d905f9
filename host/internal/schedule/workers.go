package schedule

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how many entries a worker takes at a time: enough to make taking them
// cheap, few enough that the workers end at about the same time.
const chunk = 128

// workers are goroutines that handle a bucket together with the loop.
type workers struct {
	passes chan *workPass // capacity: one place for each worker, so that starting a pass never waits
	size   int
	wg     sync.WaitGroup
}

// workPass is one pass of all workers over a list of entries.
type workPass struct {
	list []*entry
	work func([]*entry)
	next atomic.Int64
	done sync.WaitGroup
}

// startWorkers starts n-1 goroutines, since the one that calls each works as well.
func startWorkers(n int) *workers {
	c := &workers{passes: make(chan *workPass, n), size: n - 1}
	for range c.size {
		c.wg.Go(func() {
			for s := range c.passes {
				s.run()
				s.done.Done()
			}
		})
	}
	return c
}

func (c *workers) stop() {
	close(c.passes)
	c.wg.Wait()
}

// each calls work for all of list, in chunks and in parallel, and waits for the
// end.
func (c *workers) each(list []*entry, work func([]*entry)) {
	s := &workPass{list: list, work: work}
	for range min(c.size, (len(list)-1)/chunk) {
		s.done.Add(1)
		c.passes <- s
	}
	s.run()
	s.done.Wait()
}

// run takes chunks of the list until none is left.
func (s *workPass) run() {
	for {
		from := int(s.next.Add(chunk)) - chunk
		if from >= len(s.list) {
			return
		}
		s.work(s.list[from:min(from+chunk, len(s.list))])
	}
}

// fire delivers the ticks that are due at now, and queues the entries for their next
// instants. It reports whether any were due. All entries get their first tick before any
// next instant is computed.
func (t *Ticker) fire(ctx context.Context, c *workers, now time.Time) bool {
	due := t.take(now)
	if due == nil {
		return false
	}
	c.each(due.list, func(es []*entry) {
		for _, e := range es {
			e.deliverDue(now)
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
	return true
}

// deliverDue delivers the instant that the entry waits for. It leaves an entry that is far
// behind to advance, since more instants may be due than are delivered, and does nothing if
// the clock was set back since the entry was queued.
func (e *entry) deliverDue(now time.Time) {
	if late := now.Sub(e.at); late >= 0 && late < maxCatchUp*time.Second {
		e.tick(e.at)
	}
}

// tick delivers one instant. It returns false if the entry has been removed.
func (e *entry) tick(at time.Time) bool {
	e.delivering.Lock()
	defer e.delivering.Unlock()
	if e.removed {
		return false
	}
	e.deliver(Tick{At: at, Prev: e.prev})
	e.at, e.prev = at, at
	return true
}

// advance delivers further instants that are due, and moves the entry to its next
// instant.
func (e *entry) advance(ctx context.Context, now time.Time) {
	at := e.at
	if at.After(now) {
		return
	}
	if !at.Equal(e.prev) {
		// Not delivered yet, so many instants may be due.
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
			next = time.Time{} // never; or a schedule that does not advance, which would loop forever
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
