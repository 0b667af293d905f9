// Package events delivers the events of a session to its callback, for adapters of the registry
// port. It knows no service and no session: it does not make events, and decides nothing about
// them.
//
// Flow: the adapter calls Put for each event; Run, on a goroutine of its own, calls the
// callback; before a reply reaches the caller, Settle waits until the callback has received the
// events that the reply must not overtake.
package events

import (
	"sync"

	"github.com/wasmjob/wasmjob/host/registry"
)

// Queue passes the events of one session to its callback, in order, so that a slow callback
// never blocks the goroutine that puts them. An event for a path that already waits only raises
// a count, so the queue is never longer than twice the number of paths.
type Queue struct {
	on func(registry.Event)

	mu       sync.Mutex // guards the rest; adapters call Queue with their own locks held
	changed  sync.Cond  // on mu: an event waits, or was delivered
	waiting  []registry.Event
	at       map[pathEvent]int // index in waiting, for events since the last change of the connection
	count    uint64            // number of events put so far
	received uint64            // number of events that the callback has received
	closed   bool
}

// pathEvent identifies events that are merged into one.
type pathEvent struct {
	path string
	node bool // the node itself changed, which is counted
}

// New returns a queue for a callback; with nil, events are discarded.
func New(on func(registry.Event)) *Queue {
	if on == nil {
		on = func(registry.Event) {}
	}
	q := &Queue{on: on, at: make(map[pathEvent]int)}
	q.changed.L = &q.mu
	return q
}

// Put adds an event. It merges an event with a waiting one of the same path, except over a
// change of the connection, after which everything is read again. It ignores events after
// Ended, and never blocks.
func (q *Queue) Put(e registry.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if e.Kind != registry.Changed {
		clear(q.at) // later events come after this one
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
	if len(q.waiting) == 1 { // otherwise Run knows already that events wait
		q.changed.Broadcast()
	}
}

// Mark returns the number of events put so far, for Settle.
func (q *Queue) Mark() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// Settle waits until the callback has received the events up to a mark. Otherwise a reply could
// reach the caller before the event that outdates it.
func (q *Queue) Settle(mark uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.received < mark {
		q.changed.Wait()
	}
}

// Run delivers events up to Ended, which is the last. It takes all that wait at once, so
// that Put need not wait for the callback.
func (q *Queue) Run() {
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

// take waits for events, and returns all of them. into, which is empty, becomes the new
// list of waiting events.
func (q *Queue) take(into []registry.Event) []registry.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		q.changed.Wait()
	}
	into, q.waiting = q.waiting, into
	clear(q.at)
	return into
}
