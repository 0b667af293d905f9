package session

import "sync"

// maxInFlight bounds the requests of all jobs that are under way at once: more
// are no faster, and each is a goroutine. An adapter may have room for some
// more, which others ask for directly.
const maxInFlight = 56

// pool carries out requests, those that write before those that read. Its
// goroutines live only while there are some.
type pool struct {
	work sync.WaitGroup // one for each goroutine

	mu            sync.Mutex // guards what follows
	writes, reads queue
	busy          int
}

// queue holds requests in order.
type queue struct {
	waiting []func()
	next    int
}

func (q *queue) put(do func()) { q.waiting = append(q.waiting, do) }

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

func (p *pool) write(do func()) { p.add(&p.writes, do) }
func (p *pool) read(do func())  { p.add(&p.reads, do) }

func (p *pool) add(q *queue, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.put(do)
	if p.busy < maxInFlight {
		p.busy++
		p.work.Go(p.run)
	}
}

func (p *pool) run() {
	for do := p.take(); do != nil; do = p.take() {
		do()
	}
}

func (p *pool) take() func() {
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
