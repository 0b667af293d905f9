package embedded

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

// queue passes the events of one session to its callback, in order, from the
// goroutine that runs run. It must not block, so it grows without limit while the
// callback is slower than the writers.
type queue struct {
	on func(registry.Event)

	// mu guards the fields below. It may be locked while the registry's mu is held,
	// never the other way round.
	mu        sync.Mutex
	changed   sync.Cond // on mu: something was put, delivered or closed
	waiting   []registry.Event
	count     uint64 // events put so far
	delivered uint64 // events whose callback has returned
	closed    bool
}

func newQueue(on func(registry.Event)) *queue {
	if on == nil {
		on = func(registry.Event) {}
	}
	q := &queue{on: on}
	q.changed.L = &q.mu
	return q
}

// put adds an event. It never blocks.
func (q *queue) put(e registry.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, e)
	q.count++
	q.changed.Broadcast()
}

// close lets run return after the last event.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// mark names the events put so far. Taken in the same critical section as a
// read of the tree, it covers the events of every change that the read shows.
func (q *queue) mark() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// settle waits until the callback has had the events up to mark. Without it
// a reply could reach the caller before the event that it makes stale.
func (q *queue) settle(mark uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.delivered < mark {
		q.changed.Wait()
	}
}

// run delivers until close.
func (q *queue) run() {
	var taken []registry.Event
	for {
		taken = q.take(taken[:0])
		if len(taken) == 0 {
			return
		}
		for _, e := range taken {
			q.on(e)
			q.mu.Lock()
			q.delivered++
			q.changed.Broadcast()
			q.mu.Unlock()
		}
	}
}

// take waits for events and moves them to into; none means the end.
func (q *queue) take(into []registry.Event) []registry.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.changed.Wait()
	}
	into, q.waiting = q.waiting, into
	return into
}
