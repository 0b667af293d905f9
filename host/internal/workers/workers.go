// Package workers limits how many runs compute at the same time on a server, and
// shares the workers among its jobs. A worker is the right to compute: a run holds
// one while its code runs, and releases it while it waits for anything else.
//
// The package does not decide what runs, and it interrupts no run: a run that
// never releases its worker keeps it. Pool.addExtra then adds workers, so that
// other jobs do not wait for that run.
//
// Flow: Job → Worker → AcquireFirst, then Release and Acquire alternately, and
// Release at the end. Pool.serveQueue picks the next run.
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
	// extraDelay is how long a job below its fair share waits for a worker of
	// another job before the pool adds one beyond its size.
	extraDelay = 5 * time.Millisecond
	// maxExtra is the most workers that the pool adds at once. A thousand short
	// jobs that are due together then run one after the other.
	maxExtra = 64
)

// Pool holds the workers of a server. A free worker goes to the waiting job that
// holds the fewest; among equals, to the one that has waited longest.
type Pool struct {
	size int

	mu       sync.Mutex // guards the fields below, and all fields of Job and Worker
	held     int        // workers in use; more than size if the pool has added some
	active   int        // jobs that hold a worker or wait for one
	waiting  queue      // jobs that wait for a worker
	lastTurn uint64     // number of the latest waiter

	extraTimer   *time.Timer // calls addExtra; nil until first needed
	timerRunning bool        // a job below its fair share waits
	nextExtra    int         // workers that addExtra adds, before it subtracts handedOver
	handedOver   int         // workers that waiters have got since the timer started
}

// Job is the part of a Pool that belongs to one job.
type Job struct {
	pool     *Pool
	held     int       // workers that its runs hold
	active   bool      // it counts in Pool.active
	resuming list.List // waiters whose run has started; they come first
	starting list.List // waiters whose run has not started yet
	index    int       // position in Pool.waiting, valid while the job waits
}

// Worker is the worker of one run, or of one subtask of a run. The run may hold it
// or not. It implements job.Worker.
type Worker struct {
	job     *Job
	started bool // the run has held it before
	held    bool // the run holds it
}

// waiter is a run that waits for its worker.
type waiter struct {
	worker *Worker
	turn   uint64        // its number among all waiters, ascending
	ready  chan struct{} // closed when the run holds the worker
}

// New returns a pool of size workers, or nil for size 0: a nil pool limits nothing.
func New(size int) *Pool {
	if size <= 0 {
		return nil
	}
	return &Pool{size: size, nextExtra: 1}
}

// Size returns the number of workers; 0 means unlimited.
func (p *Pool) Size() int {
	if p == nil {
		return 0
	}
	return p.size
}

// Job returns a new job. It needs no cleanup: the pool keeps nothing of a job
// without runs.
func (p *Pool) Job() *Job { return &Job{pool: p} }

// Worker returns the worker of a run that has not started. The run does not hold
// it yet.
func (j *Job) Worker() *Worker { return &Worker{job: j} }

// Fork implements job.Worker.
func (w *Worker) Fork() job.Worker { return &Worker{job: w.job, started: true} }

// AcquireFirst is Acquire for a run that has not started. It returns false if ctx ended or stop
// was closed first.
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

// acquire waits until the run holds the worker. It returns false if ctx ended or stop was closed
// first; a nil stop is never closed.
func (w *Worker) acquire(ctx context.Context, stop <-chan struct{}) bool {
	j, p := w.job, w.job.pool
	p.mu.Lock()
	if w.held || p.available(j) { // no job in the queue could have this worker instead
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
	if w.held { // granted at the same moment
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
	p.serveQueue(1) // an extra worker goes to a job below its fair share, or ends here
}

// markHeld records that the run holds the worker. The caller holds p.mu, as for
// all functions below.
func (w *Worker) markHeld() {
	if w.held {
		return
	}
	w.held, w.started = true, true
	w.job.held++
	w.job.pool.held++
	w.job.updateQueue()
}

// fairShare returns how many workers each active job should hold at least.
func (p *Pool) fairShare() int { return max(1, p.size/max(1, p.active)) }

// available reports whether j may have a worker now. Beyond its size the pool has
// the same number of workers for jobs that hold none, so that these need not wait.
func (p *Pool) available(j *Job) bool { return p.held < p.size || j.held == 0 && p.held < 2*p.size }

// isShort reports whether a job below its fair share waits. The first job of the
// queue holds the fewest workers.
func (p *Pool) isShort() bool { return len(p.waiting) > 0 && p.waiting[0].held < p.fairShare() }

// serveQueue gives available workers to waiting jobs. It may add up to mayAdd
// workers for jobs below their fair share.
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

// addExtra adds workers for jobs below their fair share, since the runs that hold
// the others may never end. It adds one, and twice as many after each further
// extraDelay: a hundred jobs behind endless runs do not wait for each other.
// Workers that were handed over meanwhile count, since ending runs make room.
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

// wakeFirst gives a worker to the job's first waiter.
func (j *Job) wakeFirst() {
	waits := &j.resuming
	if waits.Len() == 0 {
		waits = &j.starting
	}
	entry := waits.Remove(waits.Front()).(*waiter)
	entry.worker.markHeld()
	close(entry.ready)
}

// firstTurn returns the turn of the job's first waiter.
func (j *Job) firstTurn() uint64 {
	if e := j.resuming.Front(); e != nil {
		return e.Value.(*waiter).turn
	}
	return j.starting.Front().Value.(*waiter).turn
}

// updateQueue moves the job to its place in the queue after held, resuming or
// starting has changed.
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

// queue is a heap of waiting jobs; the first one is served next.
type queue []*Job

// Len implements sort.Interface.
func (q queue) Len() int { return len(q) }

// Less implements sort.Interface. The job that holds the fewest workers is first; among equals, the
// one that has waited longest.
func (q queue) Less(a, b int) bool {
	if q[a].held != q[b].held {
		return q[a].held < q[b].held
	}
	return q[a].firstTurn() < q[b].firstTurn()
}

// Swap implements sort.Interface. It also keeps the jobs' positions.
func (q queue) Swap(a, b int) {
	q[a], q[b] = q[b], q[a]
	q[a].index, q[b].index = a, b
}

// Push implements heap.Interface.
func (q *queue) Push(j any) {
	j.(*Job).index = len(*q)
	*q = append(*q, j.(*Job))
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	j := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return j
}
