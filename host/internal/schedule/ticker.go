package schedule

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Tick says that a scheduled instant has come.
type Tick struct {
	At time.Time // the scheduled instant, however late the tick is
	// Prev is the instant right before At in the schedule. It is zero if unknown: for the
	// first tick, and after instants that were left out.
	Prev time.Time
}

// maxCatchUp is how many missed instants are delivered one by one. An entry
// that is further behind gets only the latest one, without Prev.
const maxCatchUp = 1000

// Ticker delivers the ticks of any number of schedules. Entries wait in
// buckets of one second; a due bucket is handed out in batches to a few
// workers, and following instants are computed after all of it is delivered.
//
// It follows the wall clock, which it reads at least once a second. After a jump forward
// (or a suspend) it delivers the missed instants in order, up to maxCatchUp; after a jump
// backward it delivers nothing twice.
type Ticker struct {
	workers int
	nudge   chan struct{} // wakes the loop for overdue entries; capacity 1, since one wake-up is enough

	mu      sync.Mutex // guards the fields below and where each entry waits
	running bool
	entries map[string]*entry
	buckets map[int64]*bucket
	overdue *bucket // entries that came after the bucket of their second was taken
	cursor  int64   // the last second whose bucket was taken
}

// entry is one schedule. While it waits it belongs to its bucket; while it is
// being delivered, to the worker that does so.
type entry struct {
	schedule Schedule
	deliver  func(Tick)
	at       time.Time // the instant that it waits for
	prev     time.Time // the last one delivered

	home  *bucket // guarded by Ticker.mu
	index int     // in home; guarded by Ticker.mu
	gone  bool    // removed or replaced; guarded by Ticker.mu

	// delivering is held during deliver, so that Remove can wait for it.
	delivering sync.Mutex
	removed    bool // nothing may be delivered any more; guarded by delivering
}

// bucket holds the entries of one second.
type bucket struct {
	second int64
	list   []*entry
	taken  bool // handed out: no entry can be removed from it
}

// NewTicker returns a ticker whose batches are delivered by the given number
// of goroutines, at least one.
func NewTicker(workers int) *Ticker {
	return &Ticker{
		workers: max(workers, 1),
		nudge:   make(chan struct{}, 1),
		entries: make(map[string]*entry),
		buckets: make(map[int64]*bucket),
		overdue: &bucket{},
		cursor:  distantPast,
	}
}

// Run delivers ticks until ctx ends, and then returns nil. When it returns, no
// deliver is running and its goroutines have ended. A second concurrent Run is
// refused; after its end Run may be called again, and catches up.
func (t *Ticker) Run(ctx context.Context) error {
	t.mu.Lock()
	if t.running {
		t.mu.Unlock()
		return errors.New("run ticker: it runs already")
	}
	t.running = true
	t.mu.Unlock()

	workers := startWorkers(t.workers)
	defer func() {
		workers.stop()
		t.mu.Lock()
		t.running = false
		t.mu.Unlock()
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-t.nudge:
		}
		for t.fire(ctx, workers, time.Now()) && ctx.Err() == nil {
		}
		// The timer counts on while the wall clock jumps, so it never waits
		// for more than the rest of this second.
		now := time.Now()
		timer.Reset(now.Truncate(time.Second).Add(time.Second).Sub(now))
	}
}

// Set adds the entry key or replaces it. Its first tick is the first instant
// of s strictly after from; instants that have passed by then are delivered at
// once, within the bounds of catching up. deliver is called by the ticker's
// workers, one call at a time; it must not block and must not call the ticker.
// Once Set returns no deliver of a replaced entry begins.
func (t *Ticker) Set(key string, s Schedule, from time.Time, deliver func(Tick)) {
	e := &entry{schedule: s, deliver: deliver, at: s.Next(from)}
	t.mu.Lock()
	old := t.detach(key)
	t.entries[key] = e
	t.mu.Unlock()
	old.bury() // before the new entry can fire, so that the two never overlap
	t.mu.Lock()
	t.queue(e)
	t.mu.Unlock()
}

// Remove removes the entry key. Once it returns, no deliver of it begins.
func (t *Ticker) Remove(key string) {
	t.mu.Lock()
	old := t.detach(key)
	t.mu.Unlock()
	old.bury()
}

// Next returns the instant that the entry key waits for, or the zero time if there
// is no such entry or it never fires again. While a tick is being delivered, Next
// returns its instant.
func (t *Ticker) Next(key string) time.Time {
	t.mu.Lock()
	e := t.entries[key]
	t.mu.Unlock()
	if e == nil {
		return time.Time{}
	}
	e.delivering.Lock()
	defer e.delivering.Unlock()
	return e.at
}

// Turned returns the second at which the loop last checked for due entries. A healthy
// loop does so every second.
func (t *Ticker) Turned() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cursor
}

// detach removes an entry from the ticker and from the bucket in which it waits, and
// returns it; nil if there is none. The caller holds t.mu.
func (t *Ticker) detach(key string) *entry {
	e := t.entries[key]
	if e == nil {
		return nil
	}
	delete(t.entries, key)
	e.gone = true
	b := e.home
	if b == nil || b.taken {
		return e // the worker that holds it will see gone
	}
	last := len(b.list) - 1
	b.list[e.index] = b.list[last]
	b.list[e.index].index = e.index
	b.list[last] = nil
	b.list = b.list[:last]
	if last == 0 && b != t.overdue {
		delete(t.buckets, b.second)
	}
	return e
}

// bury waits for a deliver in progress and prevents further ones. It does nothing for nil.
func (e *entry) bury() {
	if e == nil {
		return
	}
	e.delivering.Lock()
	e.removed = true
	e.delivering.Unlock()
}

// queue puts an entry into the bucket of its instant, or among the overdue ones if that
// bucket was taken already. An entry that was removed, or never fires again, waits nowhere.
// t.mu is held.
func (t *Ticker) queue(e *entry) {
	if e.home = nil; e.gone || e.at.IsZero() {
		return
	}
	second := e.at.Unix()
	if e.at.Nanosecond() > 0 {
		second++ // never early
	}
	b := t.overdue
	if second > t.cursor {
		if b = t.buckets[second]; b == nil {
			b = &bucket{second: second}
			t.buckets[second] = b
		}
	} else {
		select {
		case t.nudge <- struct{}{}:
		default: // the loop has a wake-up already
		}
	}
	e.home, e.index = b, len(b.list)
	b.list = append(b.list, e)
}

// take removes all entries due at now and returns them in a bucket of their own; nil if
// there are none.
func (t *Ticker) take(now time.Time) *bucket {
	t.mu.Lock()
	defer t.mu.Unlock()
	second := now.Unix()
	var due []*bucket
	if len(t.overdue.list) > 0 {
		due = append(due, t.overdue)
		t.overdue = &bucket{}
	}
	// A few seconds are looked up; for more, all buckets are searched.
	if ahead := second - t.cursor; ahead > int64(len(t.buckets)) {
		for s, b := range t.buckets {
			if s <= second {
				due = append(due, b)
			}
		}
		slices.SortFunc(due, func(a, b *bucket) int { return int(a.second - b.second) })
	} else {
		for s := t.cursor + 1; s <= second; s++ {
			if b := t.buckets[s]; b != nil {
				due = append(due, b)
			}
		}
	}
	// It also follows the clock back: the seconds between are empty, and new entries must
	// find their place.
	t.cursor = second
	if len(due) == 0 {
		return nil
	}
	for _, b := range due {
		b.taken = true
		delete(t.buckets, b.second)
	}
	first := due[0]
	for _, b := range due[1:] {
		first.list = append(first.list, b.list...)
	}
	return first
}
