package session

import "sync"

// maxInFlight bounds the queued requests of all jobs that are in flight at once:
// more do not raise the throughput, and each takes a goroutine. An adapter may
// allow a few more, which direct requests use.
const maxInFlight = 56

// pool carries out queued requests, writes before reads. Its goroutines live only
// while there are requests.
type pool struct {
	workers sync.WaitGroup // one for each goroutine

	mu            sync.Mutex // guards the fields below
	writes, reads queue
	busy          int // number of goroutines
}

// queue holds requests in the order in which they came.
type queue struct {
	waiting []func()
	next    int // index of the first in waiting that was not taken
}

// put adds a request at the end.
func (q *queue) put(do func()) { q.waiting = append(q.waiting, do) }

// take removes the first request and returns it; nil if there is none.
func (q *queue) take() func() {
	if q.next == len(q.waiting) {
		return nil
	}
	do := q.waiting[q.next]
	q.waiting[q.next] = nil
	if q.next++; q.next == len(q.waiting) {
		q.waiting, q.next = nil, 0
	}
	return do
}

// write and read queue a request.
func (p *pool) write(do func()) { p.add(&p.writes, do) }
func (p *pool) read(do func())  { p.add(&p.reads, do) }

// add queues a request, and starts a goroutine for it if fewer than maxInFlight are busy.
func (p *pool) add(q *queue, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.put(do)
	if p.busy < maxInFlight {
		p.busy++
		p.workers.Go(p.work)
	}
}

// work carries out requests until none waits.
func (p *pool) work() {
	for do := p.takeNext(); do != nil; do = p.takeNext() {
		do()
	}
}

// takeNext returns what a worker does next, a write before any read. It returns nil when
// nothing waits; the worker, which ends then, is no longer counted.
func (p *pool) takeNext() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	do := p.writes.take()
	if do == nil {
		do = p.reads.take()
	}
	if do == nil {
		p.busy--
	}
	return do
}
