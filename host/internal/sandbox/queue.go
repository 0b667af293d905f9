package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

const (
	// smallCompile is the most memory, in bytes, that a small compilation needs.
	smallCompile = 32 << 20
	// maxOvertakes is how many small compilations begin while a large one waits.
	// A server starts as many modules first. Without a bound a stream of small
	// modules would hold up the large one for ever.
	maxOvertakes = 1000
)

// compileQueue says when a module is loaded, so that all that are on their way
// stay within their memory and the small ones never wait for the large ones. As
// many small ones as there are processors go on at a time, and one large one
// beside them. Who waits has no bytes of the module in memory yet.
type compileQueue struct {
	memory  uint64 // bytes for all compilations
	small   uint64 // bytes that a small one has at most
	workers int    // small ones that go on at a time

	mu        sync.Mutex // guards what follows
	running   int        // small ones
	large     bool       // a large one is going on
	waiting   [2][]*compileTurn
	overtakes int // small ones that began since the first large one waits
}

// compileTurn is one that waits to compile.
type compileTurn struct{ ready chan struct{} }

// lane is a line of compileQueue.waiting.
type lane int

const (
	smallLane lane = iota
	largeLane
)

// compileMemory is what all compilations may have, in bytes: asked, or nine tenths
// of the heap. Estimates are twice what most modules take, so more is left for the
// server itself.
func compileMemory(asked int64, heap uint64) uint64 {
	if asked > 0 {
		return uint64(asked)
	}
	return cmp.Or(heap/10*9, defaultBudget/2) // 0: nobody knows how much there is
}

func newCompileQueue(memory uint64) *compileQueue {
	workers := runtime.GOMAXPROCS(0)
	// An eighth is for the small ones.
	return &compileQueue{memory: memory, small: min(smallCompile, memory/8/uint64(workers)), workers: workers}
}

// maxSingle is what a single compilation may need, in bytes.
func (q *compileQueue) maxSingle() uint64 { return q.memory - q.small*uint64(q.workers) }

// mayNotFit says that a compilation may need more than there is. Estimates are
// those of the worst code, and what people write takes half of them.
func (q *compileQueue) mayNotFit(need uint64) bool { return need > q.maxSingle() }

// checkMemory is the error for a compilation for which this server never has the
// memory, even if it takes half of the estimate; nil if it may have.
func (q *compileQueue) checkMemory(need uint64) error {
	if need/2 <= q.maxSingle() {
		return nil
	}
	return q.tooBig(need)
}

func (q *compileQueue) tooBig(need uint64) *Refusal {
	return &Refusal{
		Reason:  TooBig,
		Problem: fmt.Sprintf("compiling the module takes up to %d bytes of memory; this server has %d for that", need, q.maxSingle()),
		Hint:    "build it optimised for size, or as several smaller parts; or give the server more memory",
	}
}

// laneOf is where a compilation waits that needs so many bytes.
func (q *compileQueue) laneOf(need uint64) lane {
	if need > q.small {
		return largeLane
	}
	return smallLane
}

// enter waits until the next one of a lane may begin; leave must follow. The
// error is that of ctx.
func (q *compileQueue) enter(ctx context.Context, lane lane) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t := &compileTurn{ready: make(chan struct{})}
	q.mu.Lock()
	q.waiting[lane] = append(q.waiting[lane], t)
	q.beginNext()
	q.mu.Unlock()
	select {
	case <-t.ready:
		return sync.OnceFunc(func() { q.leave(lane) }), nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting[lane], t)
	if i >= 0 {
		q.waiting[lane] = slices.Delete(q.waiting[lane], i, i+1)
		q.beginNext() // the large one may have waited for it
	}
	q.mu.Unlock()
	if i < 0 { // its turn came in the same moment
		q.leave(lane)
	}
	return nil, ctx.Err()
}

func (q *compileQueue) leave(lane lane) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if lane == smallLane {
		q.running--
	} else {
		q.large = false
	}
	q.beginNext()
}

// beginNext lets those begin whose turn it is. mu is held.
func (q *compileQueue) beginNext() {
	begin := func(lane lane) {
		close(q.waiting[lane][0].ready)
		q.waiting[lane] = slices.Delete(q.waiting[lane], 0, 1)
	}
	for len(q.waiting[smallLane]) > 0 && q.running < q.workers {
		q.running++
		if len(q.waiting[largeLane]) > 0 {
			q.overtakes++
		}
		begin(smallLane)
	}
	if q.large || len(q.waiting[largeLane]) == 0 || len(q.waiting[smallLane]) > 0 && q.overtakes < maxOvertakes {
		return
	}
	q.large, q.overtakes = true, 0
	begin(largeLane)
}
