// Package workers bounds how many runs compute at once on a server, and shares
// that right out among its jobs. A worker is the right to compute: a run has one
// while its code goes on and gives it back while it waits for something else.
//
// It is not for deciding what runs, and it stops nobody: a run that never gives
// its worker back keeps it. Others do not wait for that one, see Pool.late.
//
// Flow: Job → Worker → Begin, then Release and Acquire in turns, and Release at
// the end. Pool.hand picks who goes on.
package workers

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// extraDelay is how long a job that has less than its share waits for workers
	// of others before it gets one beyond what the pool has.
	extraDelay = 5 * time.Millisecond
	// maxExtra bounds how many workers are added at once, so that a thousand jobs
	// that are due together and short run one after the other.
	maxExtra = 64
)

// Pool is the workers of a server. When they are short, the next one goes to the
// job that has the fewest, and among such to the one that has waited longest.
type Pool struct {
	size int

	mu       sync.Mutex // guards what follows, and all of Job and Worker
	held     int        // workers in use; beyond size they are for jobs below their share
	active   int        // jobs that have workers or wait for one
	waiting  queue      // jobs that wait for one
	lastTurn uint64     // waits that began

	extraTimer   *time.Timer // calls late; nil until it is needed
	timerRunning bool        // it runs: a job waits that has less than its share
	nextExtra    int         // workers to be added when it ends, less
	handedOver   int         // those that were handed on meanwhile
}

// Job is what one job has of a Pool.
type Job struct {
	pool     *Pool
	held     int
	active   bool
	resuming list.List // waits of runs that were at it already: they go first
	starting list.List // waits of runs that have yet to begin
	index    int       // in the queue; only while it waits
}

// Worker is the worker of one run, or of one part of a run; the run may have it or
// not. It implements job.Worker.
type Worker struct {
	job     *Job
	started bool
	held    bool
}

// waiter is one worker that is waited for.
type waiter struct {
	worker *Worker
	turn   uint64
	ready  chan struct{} // closed when the run has it
}

// New makes a pool of so many workers; nil, which bounds nothing, for 0.
func New(size int) *Pool {
	if size <= 0 {
		return nil
	}
	return &Pool{size: size, nextExtra: 1}
}

// Size is how many workers there are; 0 if there is no bound.
func (p *Pool) Size() int {
	if p == nil {
		return 0
	}
	return p.size
}

// Job adds a job. It needs no end: a job without runs is not known to the pool.
func (p *Pool) Job() *Job { return &Job{pool: p} }

// Worker is for a run that is to begin; it does not have it yet.
func (j *Job) Worker() *Worker { return &Worker{job: j} }

// Fork implements job.Worker.
func (w *Worker) Fork() job.Worker { return &Worker{job: w.job, started: true} }

// AcquireFirst is Acquire for a run that is to begin. It also ends, with false, when stop
// is closed.
func (w *Worker) AcquireFirst(ctx context.Context, stop <-chan struct{}) bool {
	return w.acquire(ctx, stop)
}

// Acquire implements job.Worker.
func (w *Worker) Acquire(ctx context.Context) error {
	if w.acquire(ctx, nil) {
		return nil
	}
	return ctx.Err()
}

func (w *Worker) acquire(ctx context.Context, stop <-chan struct{}) bool {
	j, p := w.job, w.job.pool
	p.mu.Lock()
	if w.held || p.available(j) { // who waits has found none
		w.markHeld()
		p.mu.Unlock()
		return true
	}
	waits := &j.starting
	if w.started {
		waits = &j.resuming
	}
	p.lastTurn++
	entry := &waiter{worker: w, turn: p.lastTurn, ready: make(chan struct{})}
	element := waits.PushBack(entry)
	j.updateQueue()
	p.serveQueue(0)
	p.mu.Unlock()

	select {
	case <-entry.ready:
		return true
	case <-ctx.Done():
	case <-stop:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.held { // it came in the same moment
		return true
	}
	waits.Remove(element)
	j.updateQueue()
	p.serveQueue(0)
	return false
}

// Release implements job.Worker.
func (w *Worker) Release() {
	j, p := w.job, w.job.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if !w.held {
		return
	}
	w.held = false
	j.held--
	p.held--
	j.updateQueue()
	p.serveQueue(1) // one that was extra goes on to a job below its share, or is no more
}

// markHeld gives the run the worker. p.mu is held, as in all that follows.
func (w *Worker) markHeld() {
	if w.held {
		return
	}
	w.held, w.started = true, true
	w.job.held++
	w.job.pool.held++
	w.job.updateQueue()
}

// fairShare is how many workers each job that wants some should have at least.
func (p *Pool) fairShare() int { return max(1, p.size/max(1, p.active)) }

// available tells whether a worker is there for a job. As many as the pool has are kept
// beside it for jobs that have none, so that those do not even wait.
func (p *Pool) available(j *Job) bool { return p.held < p.size || j.held == 0 && p.held < 2*p.size }

// isShort tells whether a job waits that has less than its share. Whoever is first
// in the queue has the fewest.
func (p *Pool) isShort() bool { return len(p.waiting) > 0 && p.waiting[0].held < p.fairShare() }

// serveQueue gives the workers that are free to those who wait. The first few may be
// extra, for jobs that have less than their share.
func (p *Pool) serveQueue(mayAdd int) {
	for len(p.waiting) > 0 {
		if !p.available(p.waiting[0]) && (mayAdd <= 0 || !p.isShort()) {
			break
		}
		mayAdd--
		p.waiting[0].wakeFirst()
		p.handedOver++
	}
	switch short := p.isShort(); {
	case short && !p.timerRunning:
		p.timerRunning, p.handedOver = true, 0
		if p.extraTimer == nil {
			p.extraTimer = time.AfterFunc(extraDelay, p.addExtra)
		} else {
			p.extraTimer.Reset(extraDelay)
		}
	case !short:
		if p.timerRunning {
			p.extraTimer.Stop()
		}
		p.timerRunning, p.nextExtra = false, 1
	}
}

// addExtra adds workers when those that are there do not come free: they may be held
// by runs that never end. It adds one, and after each patience twice as many, so
// that a hundred jobs behind endless runs do not wait for one another. What was
// handed on meanwhile counts, since runs that end make room by themselves.
func (p *Pool) addExtra() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.timerRunning {
		return
	}
	p.timerRunning = false
	extra := max(0, p.nextExtra-p.handedOver)
	p.nextExtra = min(2*p.nextExtra, maxExtra)
	p.serveQueue(extra)
}

// wakeFirst lets the first who waits go on.
func (j *Job) wakeFirst() {
	waits := &j.resuming
	if waits.Len() == 0 {
		waits = &j.starting
	}
	entry := waits.Remove(waits.Front()).(*waiter)
	entry.worker.markHeld()
	close(entry.ready)
}

// firstTurn is when the first who waits began to.
func (j *Job) firstTurn() uint64 {
	if e := j.resuming.Front(); e != nil {
		return e.Value.(*waiter).turn
	}
	return j.starting.Front().Value.(*waiter).turn
}

// updateQueue puts the job where it belongs after a change of what it has or wants.
func (j *Job) updateQueue() {
	p := j.pool
	waits := j.resuming.Len()+j.starting.Len() > 0
	queued := j.index < len(p.waiting) && p.waiting[j.index] == j
	switch {
	case waits && queued:
		heap.Fix(&p.waiting, j.index)
	case waits:
		heap.Push(&p.waiting, j)
	case queued:
		heap.Remove(&p.waiting, j.index)
	}
	if active := waits || j.held > 0; active != j.active {
		j.active = active
		if active {
			p.active++
		} else {
			p.active--
		}
	}
}

// queue is a heap of the jobs that wait; the first is the next.
type queue []*Job

func (q queue) Len() int { return len(q) }

func (q queue) Less(a, b int) bool {
	if q[a].held != q[b].held {
		return q[a].held < q[b].held
	}
	return q[a].firstTurn() < q[b].firstTurn()
}

func (q queue) Swap(a, b int) {
	q[a], q[b] = q[b], q[a]
	q[a].index, q[b].index = a, b
}

// Push is part of heap.Interface.
func (q *queue) Push(j any) {
	j.(*Job).index = len(*q)
	*q = append(*q, j.(*Job))
}

// Pop is part of heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return j
}
