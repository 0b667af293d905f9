package zk

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

// queue hands the events of one session to its callback, in order, from the
// one goroutine that runs run, so that a slow callback never holds up the
// goroutine that reads replies and heartbeats. A path that waits in it is not
// put in again, only counted, so it is not longer than twice the number of paths.
type queue struct {
	on func(registry.Event)

	mu       sync.Mutex // guards the rest
	changed  sync.Cond  // on mu: there is something to deliver, or it was delivered
	waiting  []registry.Event
	at       map[pathEvent]int // where those of paths stand in waiting, since the last change of the connection
	count    uint64            // events put so far
	received uint64            // number of events that the callback has received
	closed   bool
}

// pathEvent identifies events that may be merged into one.
type pathEvent struct {
	path string
	node bool // the node itself changed, and that is counted
}

func newQueue(on func(registry.Event)) *queue {
	if on == nil {
		on = func(registry.Event) {}
	}
	q := &queue{on: on, at: make(map[pathEvent]int)}
	q.changed.L = &q.mu
	return q
}

// put adds an event, unless one of the same path waits or the queue is closed.
// It never blocks.
func (q *queue) put(e registry.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if e.Kind != registry.Changed {
		clear(q.at)
	} else {
		key := pathEvent{e.Path, e.Changes > 0}
		if i, waits := q.at[key]; waits {
			q.waiting[i].Changes += e.Changes
			q.waiting[i].Gone = e.Gone
			return
		}
		q.at[key] = len(q.waiting)
	}
	q.waiting = append(q.waiting, e)
	q.count++
	q.closed = e.Kind == registry.Ended
	if len(q.waiting) == 1 { // else run knows already that there are some
		q.changed.Broadcast()
	}
}

// settle waits until the callback has received all events put before. Every reply
// must pass through here: otherwise it could reach the caller before the event that
// makes it stale. The service sends that event first, and the goroutine that
// receives replies also calls put.
func (q *queue) settle() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for mark := q.count; q.received < mark; {
		q.changed.Wait()
	}
}

// run delivers up to Ended, which is the last.
func (q *queue) run() {
	var taken []registry.Event
	for {
		taken = q.take(taken[:0])
		for _, e := range taken {
			q.on(e)
		}
		q.mu.Lock()
		q.received += uint64(len(taken))
		over := q.closed && len(q.waiting) == 0
		q.changed.Broadcast()
		q.mu.Unlock()
		if over {
			return
		}
	}
}

// take waits for events and moves them to into.
func (q *queue) take(into []registry.Event) []registry.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		q.changed.Wait()
	}
	into, q.waiting = q.waiting, into
	clear(q.at)
	return into
}
