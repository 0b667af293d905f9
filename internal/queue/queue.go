// Package queue decouples code that may block from code that must not wait: the log,
// events, and an embedder's callbacks. An unread pipe, a full disk or a callback that
// does not return blocks only the queue's goroutine. Do not use it for entries that must
// arrive: if the queue is full, new entries are dropped and counted.
//
// Flow: Put → a goroutine, which lives while there is work, calls one function after the
// other → after dropped entries, their number is reported → Flush waits for the end, up
// to a bound.
package queue

import (
	"sync"
	"time"
)

const (
	// room is how many bytes may wait: the log of a busy server for some seconds.
	room = 4 << 20
	// overhead is the approximate size of an entry without its own bytes.
	overhead = 128
)

// Queue calls functions in the order in which they were put. Make it with New.
// All methods are safe for concurrent use.
type Queue struct {
	full func()
	lost func(dropped int64)

	mu      sync.Mutex // guards the fields below
	waiting []entry
	size    int           // of the waiting entries and the current one
	idle    chan struct{} // closed when all is done; nil if nothing is under way
	since   time.Time     // when the current function was called
	dropped int64         // dropped and not reported yet
	closed  bool
}

type entry struct {
	size int
	do   func()
}

// New returns a queue. Put calls full when it begins to drop; full must not block. lost
// is called in the place of dropped entries. Both may be nil.
func New(full func(), lost func(dropped int64)) *Queue { return &Queue{full: full, lost: lost} }

// Put queues a call of do, unless too much waits already. size is the approximate memory
// of do in bytes. An entry larger than the whole queue is accepted if the queue is empty.
func (q *Queue) Put(size int, do func()) {
	if q.put(entry{size + overhead, do}) && q.full != nil {
		q.full()
	}
}

// put queues an entry or, if too much waits, drops it. first means that it is the first dropped entry since
// the last report.
func (q *Queue) put(e entry) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.size > 0 && q.size+e.size > room {
		if q.dropped++; q.dropped > 1 {
			return false // the report that waits counts it
		}
		first, e = true, entry{do: q.report} // in the place of the dropped entries
	}
	q.waiting = append(q.waiting, e)
	q.size += e.size
	if q.idle == nil {
		q.idle = make(chan struct{})
		go q.run()
	}
	return first
}

// report calls lost with the number of entries that were dropped since the last report.
func (q *Queue) report() {
	q.mu.Lock()
	dropped := q.dropped
	q.dropped = 0
	q.mu.Unlock()
	if q.lost != nil {
		q.lost(dropped)
	}
}

// run calls the waiting functions, one after the other, and ends when none is left. Flush waits for its end.
func (q *Queue) run() {
	for do := q.next(0); do.do != nil; do = q.next(do.size) {
		do.do()
	}
}

// next returns the entry to do now, without a function if none is left. done is the size of the entry
// before it, whose room is free again.
func (q *Queue) next(done int) entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size -= done
	if len(q.waiting) == 0 {
		q.waiting = nil
		close(q.idle)
		q.idle = nil
		return entry{}
	}
	e := q.waiting[0]
	q.waiting[0] = entry{} // so that its memory can be freed
	q.waiting = q.waiting[1:]
	q.since = time.Now()
	return e
}

// Flush waits until all entries are done, for d at most, and reports whether they
// are. A call that blocks then goes on until the process ends.
func (q *Queue) Flush(d time.Duration) bool {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle == nil {
		return true
	}
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-idle:
		return true
	case <-late.C:
		return false
	}
}

// Close drops all waiting entries and all later ones, and returns how many waited.
// A call that has begun goes on.
func (q *Queue) Close() (dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped = len(q.waiting)
	q.waiting, q.closed = nil, true
	return dropped
}

// Stuck returns how many dropped entries are unreported, and since when the queue
// waits for the function that holds it up. If dropped is 0, no entry was dropped.
func (q *Queue) Stuck() (dropped int64, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped, q.since
}
